// An endpoint of webhooks that takes everything and counts: prints `events=N` (different ids) when the number changes. PORT is its
// argument. It answers without parsing more than the id.
import { createServer } from 'node:http'

const ids = new Set()
let reported = 0
setInterval(() => {
  if (ids.size !== reported) process.stdout.write(`events=${ids.size}\n`)
  reported = ids.size
}, 50)

createServer((request, response) => {
  request.resume().on('end', () => {
    ids.add(request.headers['webhook-id'])
    response.end()
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
