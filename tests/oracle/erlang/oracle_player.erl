%% Plays scenarios on OTP: one a line on standard input, as an Erlang term; its reports a line on standard output.
%%
%% The node must have one scheduler (+S 1): then nobody but the player is running when it asks whether anybody is.
-module(oracle_player).
-export([main/0]).
-import(oracle_actor, [label/2, word/1]).

main() ->
    logger:set_primary_config(level, none),
    io:setopts([{encoding, latin1}]),
    ok = code:ensure_modules_loaded([oracle_actor, io_lib_format, sys]),
    [logger:allow(error, Module) || Module <- [gen_server, proc_lib]],
    serve().

serve() ->
    case io:get_line("") of
        eof -> halt(0);
        Line ->
            {ok, Tokens, _} = erl_scan:string(Line),
            {ok, Scenario} = erl_parse:parse_term(Tokens),
            io:put_chars([json(play_warm(Scenario, firsts())), $\n]),
            serve()
    end.

%% Again where somebody did something for the first time on this node: meanwhile it is not active, although it is to
%% go on.
play_warm(Scenario, Before) ->
    Reports = play(Scenario),
    case firsts() of
        Before -> Reports;
        More -> play_warm(Scenario, More)
    end.

%% What the node does once: it loads a module when it is used, and keeps the level of a module that may log.
firsts() -> {code:all_loaded(), maps:get(count, persistent_term:info())}.

json(List) when is_list(List) -> [$[, lists:join($,, [json(Item) || Item <- List]), $]];
json(Number) when is_integer(Number) -> integer_to_list(Number);
json(Text) when is_binary(Text) -> [$", Text, $"];
json(Word) when is_atom(Word) -> [$", atom_to_list(Word), $"].

play(#{tree := Tree, steps := Steps}) ->
    Table = ets:new(book, [ordered_set, public, {write_concurrency, false}]),
    ets:insert(Table, [{events, 0}, {requests, 0}]),
    Book = {Table, spawn(fun() -> watch(Table) end), spawn(fun() -> keep_gates([]) end)},
    Parent = spawn(fun() -> parent() end),
    try [step(Book, Parent, Step) || Step <- [[start, Tree] | Steps]]
    after clean_up(Book, Parent), ets:delete(Table)
    end.

step(Book, Parent, Step) ->
    Done = act(Step, Book, Parent),
    settle(Book),
    report(Book, Done).

%% ---- those who help -------------------------------------------------------------------------------------------

watch(Table) ->
    receive
        {watch, Pid, Label} ->
            monitor(process, Pid),
            put(Pid, Label),
            Pid ! watched;
        {'DOWN', _, process, Pid, Reason} ->
            ets:update_counter(Table, events, 1),
            ets:insert(Table, {{death, erase(Pid)}, word(Reason)})
    end,
    watch(Table).

keep_gates(Waiting) ->
    Alive = [One || {_, _, Pid} = One <- Waiting, is_process_alive(Pid)],
    receive
        {wait, Id, Where, Pid} -> keep_gates([{Id, Where, Pid} | Alive]);
        {open, Id} ->
            {Here, Others} = lists:partition(fun({At, _, _}) -> At =:= Id end, Alive),
            [Pid ! {go, Id} || {_, _, Pid} <- Here],
            keep_gates(Others);
        {who, From} ->
            From ! {waiting, lists:usort([{Id, Where} || {Id, Where, _} <- Alive])},
            keep_gates(Alive)
    end.

waiting({_, _, Gates}) ->
    Gates ! {who, self()},
    receive {waiting, Waiting} -> Waiting end.

parent() ->
    process_flag(trap_exit, true),
    receive
        {start, Book, Tree, From} ->
            From ! {started, oracle_actor:start_supervisor(Book, Tree)},
            parent();
        {signal, Pid, Reason} -> exit(Pid, Reason), parent();
        {exit, Reason} -> exit(Reason);
        _ -> parent()
    end.

%% ---- coming to rest -------------------------------------------------------------------------------------------

%% Nobody can run any more; and, unless somebody waits at a gate, no supervisor is in the middle of anything.
settle(Book) ->
    quiet(),
    case waiting(Book) of
        [] ->
            Before = events(Book),
            [catch sys:get_state(Pid, infinity) || Pid <- supervisors(Book)],
            quiet(),
            case events(Book) of
                Before -> ok;
                _ -> settle(Book)
            end;
        _ -> quiet()
    end.

quiet() ->
    erlang:yield(),
    case erlang:statistics(total_active_tasks_all) of
        1 -> ok;
        _ -> quiet()
    end.

events({Table, _, _}) -> ets:lookup_element(Table, events, 2).

supervisors({Table, _, _}) ->
    [Pid || [Pid, Kind] <- ets:match(Table, {{latest, '_'}, '$1', '$2'}), Kind =/= worker, is_process_alive(Pid)].

clean_up({Table, Watcher, Gates} = Book, Parent) ->
    [exit(Pid, kill) || Pid <- [Parent | supervisors(Book)]],
    [exit(Pid, kill) || [Pid] <- ets:match(Table, {{label, '$1'}, '_'})],
    quiet(),
    case [Pid || [Pid] <- ets:match(Table, {{label, '$1'}, '_'}), is_process_alive(Pid)] of
        [] -> [exit(Pid, kill) || Pid <- [Watcher, Gates]], flush();
        _ -> clean_up(Book, Parent)
    end.

flush() -> receive _ -> flush() after 0 -> ok end.

%% ---- reports --------------------------------------------------------------------------------------------------

report({Table, _, _} = Book, Done) ->
    Notes = [{Lane, Text} || [Lane, Text] <- ets:match(Table, {{note, '_'}, '$1', '$2'})],
    Deaths = [[Label, Reason] || [Label, Reason] <- ets:match(Table, {{death, '$1'}, '$2'})],
    ets:match_delete(Table, {{note, '_'}, '_', '_'}),
    ets:match_delete(Table, {{death, '_'}, '_'}),
    Lanes = [[Lane, [Text || {At, Text} <- Notes, At =:= Lane]] || Lane <- lists:usort([L || {L, _} <- Notes])],
    [Done, Lanes, lists:sort(Deaths), replies(Book)].

replies({Table, _, _} = Book) ->
    Requests = ets:match(Table, {{request, '$1'}, '$2', '$3'}),
    Arrived = [arrived(Book, Number, Verb, Request) || [Number, Verb, Request] <- Requests],
    lists:append([start_reply() | Arrived]).

start_reply() ->
    receive
        {started, {ok, _}} -> [[0, ok]];
        {started, {error, Reason}} -> [[0, [error, start, word(Reason)]]]
    after 0 -> []
    end.

arrived({Table, _, _} = Book, Number, Verb, Request) ->
    case gen_server:wait_response(Request, 0) of
        timeout -> [];
        Response ->
            ets:delete(Table, {request, Number}),
            [[Number, answer(Book, Verb, Response)]]
    end.

answer(_, _, {error, {Reason, _}}) -> [failed, word(Reason)];
answer(Book, Verb, {reply, Reply}) -> result(Book, Verb, Reply).

result(_, call, Reply) -> Reply;
result(Book, which_children, Children) -> [[Id, child(Book, Child), Type] || {Id, Child, Type, _} <- Children];
result(Book, which_dynamic, Children) -> lists:sort([child(Book, Child) || {_, Child, _, _} <- Children]);
result(_, count_children, Counts) -> [proplists:get_value(Key, Counts) || Key <- [specs, active, supervisors, workers]];
result(_, count_dynamic, Counts) -> [proplists:get_value(Key, Counts) || Key <- [active, workers]];
result(_, get_childspec, {ok, #{restart := Restart, shutdown := Shutdown, significant := Significant, type := Type}}) ->
    [Restart, Shutdown, Significant, Type];
result(Book, _, {ok, Child}) -> [ok, child(Book, Child)];
result(_, _, ok) -> ok;
result(Book, start_child, {error, {already_started, Pid}}) -> [error, already_started, label(Book, Pid)];
result(_, start_child, {error, {Reason, Child}}) when element(1, Child) =:= child -> [error, start, word(Reason)];
result(_, start_child, {error, Why}) when is_tuple(Why) -> [error, bad_spec];
result(_, start_dynamic, {error, Reason}) -> [error, start, word(Reason)];
result(_, restart_child, {error, Why}) when Why =/= running, Why =/= restarting, Why =/= not_found ->
    [error, start, word(Why)];
result(_, _, {error, Why}) -> [error, Why].

child(Book, Child) when is_pid(Child) -> label(Book, Child);
child(_, Child) -> Child.

%% ---- steps ----------------------------------------------------------------------------------------------------

act([start, Tree], Book, Parent) ->
    Parent ! {start, Book, Tree, self()},
    [asked, 0];
act([parent_exit, kill], _, Parent) -> exit(Parent, kill), ok;
act([parent_exit, Reason], _, Parent) -> Parent ! {exit, reason(Reason)}, ok;
act([parent_signal, Reason], Book, Parent) -> Parent ! {signal, pid(Book, top), reason(Reason)}, ok;
act([stop, Id, Reason], Book, _) ->
    try gen_server:stop(pid(Book, Id), reason(Reason), infinity)
    catch exit:Why -> [failed, word(case Why of {noproc, _} -> noproc; _ -> Why end)]
    end;
act([signal, Id, Reason], Book, _) ->
    {_, Monitor} = spawn_monitor(fun() -> exit(pid(Book, Id), reason(Reason)) end),
    receive {'DOWN', Monitor, process, _, _} -> ok end;
act([junk, Id], Book, _) -> pid(Book, Id) ! junk, ok;
act([suspend, Id], Book, _) -> sys_do(suspend, Book, Id);
act([resume, Id], Book, _) -> sys_do(resume, Book, Id);
act([open, Id], {_, _, Gates}, _) -> Gates ! {open, Id}, ok;
act([open_all], Book, Parent) ->
    case waiting(Book) of
        [] -> ok;
        [{Id, _} | _] -> act([open, Id], Book, Parent), settle(Book), act([open_all], Book, Parent)
    end;
act([tree], Book, _) -> tree(Book, pid(Book, top), top);
act([cast, Id, Message], Book, _) -> unless_starting(Book, Id, fun(Pid) -> gen_server:cast(Pid, message(Message)) end);
act([call, Id, Message], Book, _) -> unless_starting(Book, Id, fun(_) -> request(Book, call, Id, message(Message)) end);
act([which_children, Id], Book, _) -> request(Book, which_children, Id, which_children);
act([which_dynamic, Id], Book, _) -> request(Book, which_dynamic, Id, which_children);
act([count_children, Id], Book, _) -> request(Book, count_children, Id, count_children);
act([count_dynamic, Id], Book, _) -> request(Book, count_dynamic, Id, count_children);
act([start_child, Id, Def], Book, _) -> request(Book, start_child, Id, {start_child, oracle_actor:spec(Book, Def)});
act([start_dynamic, Id, Def], Book, _) -> request(Book, start_dynamic, Id, {start_child, [Def]});
act([terminate_dynamic, Id, Child], Book, _) ->
    Pid = pid(Book, Child),
    case is_process_alive(Pid) of
        true -> request(Book, terminate_child, Id, {terminate_child, Pid});
        false -> nobody
    end;
act([Verb, Id, Child], Book, _) -> request(Book, Verb, Id, {Verb, Child}).

%% A message that is more than a word is a list in the scenario.
message(List) when is_list(List) -> list_to_tuple([message(Item) || Item <- List]);
message(Other) -> Other.

reason(shutdown_x) -> {shutdown, x};
reason(Reason) -> Reason.

%% When the gate of its init opens, its siblings start while it would already handle the message.
unless_starting(Book, Id, Send) ->
    case lists:member({Id, starting}, waiting(Book)) of
        true -> starting;
        false -> Send(pid(Book, Id))
    end.

%% The latest incarnation, dead or alive; somebody long dead for an actor that has never been there.
pid({Table, _, _}, Id) ->
    case ets:lookup(Table, {latest, Id}) of
        [{_, Pid, _}] -> Pid;
        [] -> {Pid, Monitor} = spawn_monitor(fun() -> ok end), receive {'DOWN', Monitor, process, _, _} -> Pid end
    end.

request({Table, _, _} = Book, Verb, Id, Message) ->
    Number = ets:update_counter(Table, requests, 1),
    ets:insert(Table, {{request, Number}, Verb, gen_server:send_request(pid(Book, Id), Message)}),
    [asked, Number].

sys_do(Verb, Book, Id) ->
    try sys:Verb(pid(Book, Id), infinity)
    catch exit:_ -> nobody
    end.

tree(Book, Pid, Id) ->
    try
        Counts = supervisor:count_children(Pid),
        Children = supervisor:which_children(Pid),
        case kind(Book, Id) of
            dynamic -> [Id, result(Book, which_dynamic, Children), result(Book, count_dynamic, Counts)];
            supervisor -> [Id, [twig(Book, Child) || Child <- Children], result(Book, count_children, Counts)]
        end
    catch exit:_ -> [Id, gone]
    end.

twig(Book, {Id, Pid, supervisor, _}) when is_pid(Pid) -> [Id, label(Book, Pid), tree(Book, Pid, Id)];
twig(Book, {Id, Child, Type, _}) -> [Id, child(Book, Child), Type].

kind({Table, _, _}, Id) ->
    case ets:lookup(Table, {latest, Id}) of
        [{_, _, Kind}] -> Kind;
        [] -> supervisor
    end.
