%% Erlang's half of the kernel benchmark: one request a line on standard input, one answer a line.
%%
%% A request is a row's name and integers, "cast 100000"; the answer is "key=value" words. Times are in nanoseconds.
%% Everything runs on gen_server and supervisor as OTP ships them, with the options a user would type. The node's
%% logger writes its crash reports to a file, as the Python sides' loggers do.
-module(otpy_bench).
-behaviour(gen_server).
-export([main/0, start_worker/2, init/1, handle_call/3, handle_cast/2]).

-define(RING, 1000).

main() ->
    io:format("version=OTP-~s~n", [erlang:system_info(otp_release)]),
    serve().

serve() ->
    case io:get_line("") of
        eof -> halt(0);
        Line -> answer(string:lexemes(Line, " \n")), serve()
    end.

answer([Name | Numbers]) ->
    try measure(list_to_atom(Name), [list_to_integer(N) || N <- Numbers]) of
        Pairs -> io:format("~s~n", [lists:join(" ", [word(Pair) || Pair <- Pairs])])
    catch
        Class:Reason -> io:format("error=~s~n", [re:replace(io_lib:format("~0p:~0p", [Class, Reason]), "\\s+", "_", [global])])
    end.

word({Key, Values}) when is_list(Values) ->
    io_lib:format("~s=~s", [Key, lists:join(",", [integer_to_list(V) || V <- Values])]);
word({Key, Value}) -> io_lib:format("~s=~b", [Key, Value]).

%% ---- the rows -------------------------------------------------------------------------------------------------

measure(cast, [N]) ->
    Server = gen({counter, N, self()}),
    Ns = timed(fun() -> times(N, fun(_) -> gen_server:cast(Server, hit) end), await(done) end),
    stop(Server),
    [{ns, Ns}];
measure(call, [N]) ->
    Server = gen(idle),
    Ns = timed(fun() -> calls(Server, N) end),
    stop(Server),
    [{ns, Ns}];
measure(call_actor, [N]) ->
    Server = gen(idle),
    Caller = gen(idle),
    Ns = gen_server:call(Caller, {calls, Server, N}, infinity),
    stop(Caller),
    stop(Server),
    [{ns, Ns}];
measure(ring, [N]) ->
    Last = spawn_link(fun() -> receive {next, First} -> hop(First) end end),
    First = lists:foldl(fun(_, Next) -> spawn_link(fun() -> hop(Next) end) end, Last, lists:seq(2, ?RING)),
    Last ! {next, First},
    Ns = timed(fun() -> First ! {hop, N, self()}, await(done) end),
    First ! {stop, ?RING},
    [{ns, Ns}];
measure(ring_gen_server, [N]) ->
    Last = gen({link, none}),
    {First, All} = lists:foldl(fun(_, {Next, Seen}) -> L = gen({link, Next}), {L, [L | Seen]} end,
                               {Last, [Last]}, lists:seq(2, ?RING)),
    gen_server:cast(Last, {next, First}),
    Ns = timed(fun() -> gen_server:cast(First, {hop, N, self()}), await(done) end),
    lists:foreach(fun stop/1, All),
    [{ns, Ns}];
measure(start_child, [N]) -> starts(N, []);
measure(start_child_one, [N]) -> starts(N, []);
measure(start_child_timed, [N]) -> starts(N, [{timeout, 5000}]);
measure(population, [N, IdleMs]) ->
    Sup = sup([]),
    times(100, fun(I) -> child(Sup, I) end),
    Before = settled(Sup),
    Pids = [child(Sup, I) || I <- lists:seq(1, N)],
    Fresh = settled(Sup),
    lists:foreach(fun(Pid) -> calls(Pid, 1) end, Pids),
    Used = settled(Sup),
    {Cpu, _} = statistics(runtime),
    timer:sleep(IdleMs),
    {CpuAfter, _} = statistics(runtime),
    [{before, Before}, {fresh, Fresh}, {used, Used}, {cpu_ms, CpuAfter - Cpu}];
measure(restart, [N, WarmUp, Crashes]) -> [{samples, crashes(N, WarmUp, Crashes)}];
measure(restart_quiet, [N, WarmUp, Crashes]) ->
    logger:set_primary_config(level, none), % without crash reports, which cost more than the restart itself
    [{samples, crashes(N, WarmUp, Crashes)}];
measure(blocking, [N, Ms]) -> [{ns, naps(N, Ms)}];
measure(blocking_hog, [N, Ms]) ->
    Hog = spawn(fun spin/0),
    Ns = naps(N, Ms),
    exit(Hog, kill),
    [{ns, Ns}];
measure(fair, [Hogs, Ms, Most]) ->
    Server = gen(idle),
    Spinning = [spawn(fun spin/0) || _ <- lists:seq(1, Hogs)],
    Samples = sample(Server, erlang:monotonic_time(millisecond) + Ms, Most),
    [exit(Hog, kill) || Hog <- Spinning],
    stop(Server),
    [{samples, Samples}];
measure(blocked_callers, [N, Ms]) ->
    Server = gen({slow, Ms}),
    Owner = self(),
    Ns = timed(fun() ->
        times(N, fun(_) -> spawn_link(fun() -> gen_server:call(Server, slow, infinity), Owner ! done end) end),
        times(N, fun(_) -> await(done) end)
    end),
    stop(Server),
    [{ns, Ns}].

%% ---- helpers --------------------------------------------------------------------------------------------------

timed(Fun) ->
    Began = erlang:monotonic_time(nanosecond),
    Fun(),
    erlang:monotonic_time(nanosecond) - Began.

times(0, _) -> ok;
times(N, Fun) -> Fun(N), times(N - 1, Fun).

await(Message) -> receive Message -> ok end.

flush() -> receive _ -> flush() after 0 -> ok end.

gen(State) -> {ok, Pid} = gen_server:start_link(?MODULE, State, []), Pid.

stop(Pid) -> gen_server:stop(Pid).

calls(_, 0) -> ok;
calls(Server, N) -> N = gen_server:call(Server, {echo, N}), calls(Server, N - 1).

hop(Next) ->
    receive
        {hop, 0, Owner} -> Owner ! done, hop(Next);
        {hop, Left, Owner} -> Next ! {hop, Left - 1, Owner}, hop(Next);
        {stop, 1} -> ok;
        {stop, Left} -> Next ! {stop, Left - 1}
    end.

spin() -> spin(0).
spin(X) -> spin((X * 1103515245 + 12345) band 16#7fffffff).

naps(N, Ms) ->
    Pids = [gen({nap, self()}) || _ <- lists:seq(1, N)],
    Ns = timed(fun() ->
        lists:foreach(fun(Pid) -> gen_server:cast(Pid, {nap, Ms}) end, Pids),
        times(N, fun(_) -> await(done) end)
    end),
    lists:foreach(fun stop/1, Pids),
    Ns.

sample(_, _, 0) -> [];
sample(Server, Until, Left) ->
    case erlang:monotonic_time(millisecond) >= Until of
        true -> [];
        false ->
            Ns = timed(fun() -> gen_server:call(Server, {echo, 1}, infinity) end),
            timer:sleep(1), % else the whole sample is over within one time slice of the computing processes
            [Ns | sample(Server, Until, Left - 1)]
    end.

starts(N, Options) ->
    Sup = sup(Options),
    Ns = timed(fun() -> times(N, fun(I) -> child(Sup, I) end) end),
    unlink(Sup),
    Watch = monitor(process, Sup),
    exit(Sup, shutdown),
    receive {'DOWN', Watch, process, _, _} -> ok end,
    [{ns, Ns}].

crashes(N, WarmUp, Crashes) ->
    Sup = sup([{report, self()}]),
    Pids = list_to_tuple([child(Sup, I) || I <- lists:seq(1, N)]),
    flush(),
    Step = max(1, N div (Crashes + WarmUp)),
    lists:nthtail(WarmUp, [crash(element(I * Step, Pids)) || I <- lists:seq(1, Crashes + WarmUp)]).

crash(Pid) ->
    Began = erlang:monotonic_time(nanosecond),
    gen_server:cast(Pid, boom),
    receive {up, At} -> At - Began end.

sup(Options) -> {ok, Sup} = supervisor:start_link(?MODULE, {supervisor, Options}), Sup.

child(Sup, I) -> {ok, Pid} = supervisor:start_child(Sup, [I]), Pid.

settled(Sup) ->
    [erlang:garbage_collect(Pid) || Pid <- [Sup, self()]],
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = string:lexemes(binary_to_list(Text), " "),
    list_to_integer(Pages).

start_worker(Options, I) ->
    case proplists:get_value(report, Options) of
        undefined -> gen_server:start_link(?MODULE, {worker, I}, Options);
        Owner -> gen_server:start_link(?MODULE, {worker, I, Owner}, [])
    end.

%% ---- gen_server and supervisor callbacks ----------------------------------------------------------------------

init({supervisor, Options}) ->
    Child = #{id => worker, start => {?MODULE, start_worker, [Options]}, restart => permanent, shutdown => 5000},
    {ok, {#{strategy => simple_one_for_one, intensity => 1000000, period => 1}, [Child]}};
init({worker, _, Owner} = State) ->
    Owner ! {up, erlang:monotonic_time(nanosecond)},
    {ok, State};
init(State) -> {ok, State}.

handle_call({echo, X}, _, State) -> {reply, X, State};
handle_call({calls, Server, N}, _, State) -> {reply, timed(fun() -> calls(Server, N) end), State};
handle_call(slow, _, {slow, Ms}) -> timer:sleep(Ms), {reply, ok, idle};
handle_call(slow, _, State) -> {reply, ok, State}.

handle_cast(hit, {counter, 1, Owner}) -> Owner ! done, {noreply, idle};
handle_cast(hit, {counter, Left, Owner}) -> {noreply, {counter, Left - 1, Owner}};
handle_cast({next, Next}, {link, _}) -> {noreply, {link, Next}};
handle_cast({hop, 0, Owner}, State) -> Owner ! done, {noreply, State};
handle_cast({hop, Left, Owner}, {link, Next} = State) -> gen_server:cast(Next, {hop, Left - 1, Owner}), {noreply, State};
handle_cast({nap, Ms}, {nap, Owner} = State) -> timer:sleep(Ms), Owner ! done, {noreply, State};
handle_cast(boom, _) -> error(boom).
