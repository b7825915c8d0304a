"""The probes over HTTP: what is asked, what is answered, and the thread that serves it."""
