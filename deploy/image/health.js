// The health check of the image: exits with 0 while the server responds. The listener for metrics serves it without TLS.
const port = (process.env['BERTH_METRICS_LISTEN'] ?? '').split(':').pop()
fetch(`http://127.0.0.1:${port}/healthz`).then(
  ({ status }) => process.exit(status === 200 ? 0 : 1),
  (error) => {
    process.stderr.write(`${error.cause?.message ?? error.message}\n`)
    process.exit(1)
  },
)
