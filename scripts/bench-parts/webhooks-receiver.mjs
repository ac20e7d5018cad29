// An endpoint of webhooks that takes everything and counts: prints `requests=N events=N` (different ids) when the
// numbers change. PORT is its argument. It answers without parsing more than the id.
import { createServer } from 'node:http'

const ids = new Set()
let requests = 0
let reported = ''
setInterval(() => {
  const now = `requests=${requests} events=${ids.size}\n`
  if (now !== reported) process.stdout.write(now)
  reported = now
}, 50)

createServer((request, response) => {
  request.resume().on('end', () => {
    requests += 1
    ids.add(request.headers['webhook-id'])
    response.end()
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
