%% The actors of a scenario: workers that do as planned, and supervisors, as OTP ships them, that keep them.
%%
%% A worker's events go into the lane of its incarnation, `a#2`; what its starts and its end do goes into the lane
%% `order` instead where its definition says so, for there the order among all actors is certain.
-module(oracle_actor).
-export([start_worker/2, start_worker/3, start_supervisor/2, label/2, word/1, spec/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, handle_continue/2, terminate/2]).

start_worker(Book, Def) -> gen_server:start_link(?MODULE, {worker, Book, Def}, []).

start_worker(Book, Kept, Def) -> start_worker(Book, maps:merge(Def, Kept)).

start_supervisor(Book, Def) -> supervisor:start_link(?MODULE, {supervisor, Book, Def}).

%% ---- notes ----------------------------------------------------------------------------------------------------

note({Table, _, _}, Lane, Text) ->
    ets:update_counter(Table, events, 1),
    ets:insert(Table, {{note, erlang:unique_integer([monotonic])}, text(Lane), text(Text)}).

text(Parts) -> iolist_to_binary(lists:map(fun part/1, Parts)).

part(Part) when is_atom(Part) -> atom_to_binary(Part);
part(Part) when is_integer(Part) -> integer_to_binary(Part);
part(Part) -> Part.

%% The next incarnation of an actor: it has a number, and its death is going to be seen.
enter({Table, Watcher, _}, Id, Kind) ->
    Number = ets:update_counter(Table, {number, Id}, 1, {{number, Id}, 0}),
    Label = text([Id, <<"#">>, Number]),
    ets:update_counter(Table, events, 1),
    ets:insert(Table, [{{latest, Id}, self(), Kind}, {{label, self()}, Label}]),
    Watcher ! {watch, self(), Label},
    receive watched -> {Number, Label} end.

label({Table, _, _}, Pid) ->
    case ets:lookup(Table, {label, Pid}) of
        [{_, Label}] -> Label;
        [] -> <<"stranger">>
    end.

wait_at_gate({_, _, Gates}, Id, Where) ->
    Gates ! {wait, Id, Where, self()},
    receive {go, Id} -> ok end.

word({shutdown, {failed_to_start_child, Id, Reason}}) -> text([<<"shutdown:failed(">>, Id, <<",">>, word(Reason), <<")">>]);
word({shutdown, Detail}) -> text([<<"shutdown:">>, word(Detail)]);
word({Reason, Stack}) when is_list(Stack) -> text([<<"error:">>, word(Reason)]);
word(Reason) when is_atom(Reason) -> atom_to_binary(Reason);
word(Reason) -> iolist_to_binary(io_lib:format("~0p", [Reason])).

reason(shutdown_x) -> {shutdown, x};
reason(Reason) -> Reason.

%% ---- starts ---------------------------------------------------------------------------------------------------

init({supervisor, Book, #{id := Id} = Def}) ->
    #{strategy := Strategy, intensity := Intensity, auto_shutdown := Auto, children := Children} = Def,
    enter(Book, Id, case Strategy of simple_one_for_one -> dynamic; _ -> supervisor end),
    Flags = #{strategy => Strategy, intensity => Intensity, period => 1000000, auto_shutdown => Auto},
    case Strategy of
        simple_one_for_one ->
            #{child_restart := Restart, child_shutdown := Shutdown} = Def,
            Spec = #{id => worker, start => {?MODULE, start_worker, [Book, #{ordered => false}]},
                     restart => Restart, shutdown => Shutdown},
            {ok, {Flags, [Spec]}};
        _ ->
            {ok, {Flags, [spec(Book, Child) || Child <- Children]}}
    end;
init({worker, Book, #{id := Id, plan := Plan, traps := Traps} = Def}) ->
    process_flag(trap_exit, Traps),
    {Number, Label} = enter(Book, Id, worker),
    Planned = planned(atom_to_list(Plan), Number),
    Planned =:= $g andalso wait_at_gate(Book, Id, starting),
    State = Def#{book => Book, label => Label, linked => [], watched => []},
    mark(State, case Planned of $g -> <<"+">>; _ -> [Planned] end, <<>>),
    case Planned of
        $! -> {stop, boom};
        $s -> {stop, shutdown};
        $? -> error(boom);
        $~ -> ignore;
        $c -> {ok, State, {continue, go}};
        $x -> {ok, State, {continue, crash}};
        _ -> {ok, State}
    end.

%% What the start of this number does: `+` goes well, `!` `s` `?` fail, `~` is ignored, `c` goes on with a continue,
%% `x` crashes in one, `g` waits at its gate; `*` repeats the one before for ever, and after its end all go well.
planned(Plan, Number) ->
    case lists:reverse(Plan) of
        [$*, Last | Before] when Number > length(Before) -> Last;
        _ when Number =< length(Plan) -> lists:nth(Number, Plan);
        _ -> $+
    end.

spec(Book, #{kind := worker, id := Id, restart := Restart, shutdown := Shutdown, significant := Significant} = Def) ->
    #{id => Id, start => {?MODULE, start_worker, [Book, Def]}, restart => Restart, shutdown => Shutdown,
      significant => Significant};
spec(Book, #{id := Id, restart := Restart, significant := Significant} = Def) ->
    #{id => Id, start => {?MODULE, start_supervisor, [Book, Def]}, restart => Restart, shutdown => infinity,
      type => supervisor, significant => Significant}.

%% ---- what a worker does ---------------------------------------------------------------------------------------

mark(#{id := Id, book := Book, label := Label, ordered := Ordered}, Before, After) ->
    note(Book, case Ordered of true -> [order]; false -> [Label] end, [Before, Id, After]).

log(#{book := Book, label := Label}, Text) -> note(Book, [Label], Text).

handle_continue(go, State) ->
    log(State, [<<"continue">>]),
    {noreply, State};
handle_continue(crash, _) -> error(boom).

handle_call(ask, _, #{label := Label} = State) -> {reply, Label, State};
handle_call(crash, _, _) -> error(boom);
handle_call(defer, _, State) -> {noreply, State};
handle_call({stop, Reason}, _, State) -> {stop, reason(Reason), State};
handle_call({stop_reply, Reason}, _, State) -> {stop, reason(Reason), <<"bye">>, State}.

handle_cast({stop, Reason}, State) -> {stop, reason(Reason), State};
handle_cast(crash, _) -> error(boom);
handle_cast({exit, Reason}, _) -> exit(reason(Reason));
handle_cast({job, Number}, State) ->
    log(State, [<<"job ">>, Number]),
    {noreply, State};
handle_cast(hold, #{book := Book, id := Id} = State) ->
    log(State, [<<"held">>]),
    wait_at_gate(Book, Id, held),
    log(State, [<<"let go">>]),
    {noreply, State};
handle_cast({deed, Deed}, State) -> {noreply, do_if_there(Deed, State)}.

do_if_there(Deed, #{book := {Table, _, _}} = State) when is_tuple(Deed), is_atom(element(2, Deed)) ->
    case element(1, Deed) =:= trap orelse ets:member(Table, {latest, element(2, Deed)}) of
        true -> do(Deed, State);
        false -> log(State, [<<"nobody ">>, element(2, Deed)]), State
    end;
do_if_there(Deed, State) -> do(Deed, State).

do({link, Other}, #{linked := Linked} = State) ->
    Pid = latest(State, Other),
    case is_process_alive(Pid) orelse process_info(self(), trap_exit) =:= {trap_exit, true} of
        true -> link(Pid), log(State, [<<"linked ">>, Other]), State#{linked := [Pid | Linked]};
        false -> log(State, [<<"nobody ">>, Other]), State
    end;
do({unlink, Other}, State) ->
    unlink(latest(State, Other)),
    log(State, [<<"unlinked ">>, Other]),
    State;
do({trap, Traps}, State) ->
    process_flag(trap_exit, Traps),
    log(State, [<<"traps ">>, Traps]),
    State;
do({monitor, Other}, #{watched := Watched} = State) ->
    log(State, [<<"monitors ">>, Other]),
    State#{watched := [{Other, monitor(process, latest(State, Other))} | Watched]};
do({demonitor, Other}, #{watched := Watched} = State) ->
    case lists:keytake(Other, 1, Watched) of
        {value, {_, Monitor}, Left} ->
            log(State, [<<"demonitored ">>, demonitor(Monitor, [info])]),
            State#{watched := Left};
        false -> State
    end;
do({send_exit, Other, Reason}, State) ->
    log(State, [<<"sends exit to ">>, Other]),
    exit(latest(State, Other), reason(Reason)),
    State;
do({spawn_link, Def}, #{book := Book, linked := Linked} = State) ->
    {ok, Pid} = start_worker(Book, Def),
    log(State, [<<"started ">>, label(Book, Pid)]),
    State#{linked := [Pid | Linked]};
do(leave, State) ->
    unlink(hd(get('$ancestors'))),
    log(State, [<<"left">>]),
    State;
do(let_go, #{linked := Linked, watched := Watched} = State) ->
    [unlink(Pid) || Pid <- Linked],
    [demonitor(Monitor) || {_, Monitor} <- Watched],
    State#{linked := [], watched := []}.

latest(#{book := {Table, _, _}}, Id) -> ets:lookup_element(Table, {latest, Id}, 2).

handle_info({'EXIT', From, Reason}, #{book := Book} = State) ->
    log(State, [<<"exit ">>, label(Book, From), <<" ">>, word(Reason)]),
    {noreply, State};
handle_info({'DOWN', _, process, Pid, Reason}, #{book := Book} = State) ->
    log(State, [<<"down ">>, label(Book, Pid), <<" ">>, word(Reason)]),
    {noreply, State}.

terminate(Reason, #{stop := Stop} = State) ->
    mark(State, <<"-">>, [<<"(">>, word(Reason), <<")">>]),
    case Stop of
        ok -> ok;
        boom -> exit(boom);
        error -> error(oops);
        hang -> receive never -> ok end
    end.
