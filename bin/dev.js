// The program of `npm run dev`, which Node restarts when a file of the packages changes. Node does not watch the modules that are imported:
// npx changes the attributes of bin/berth.js, and npm those of other packages.

// Otherwise threads and processes of the server report their modules to it, and it takes these messages for replies.
delete process.env.WATCH_REPORT_DEPENDENCIES
await import('./berth.js')
