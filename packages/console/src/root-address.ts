/** The server sends the console at `/` too. Its own addresses start with /console, so that no path of the API can be one of them. */
if (location.pathname === '/') history.replaceState(history.state, '', `/console${location.search}`)
