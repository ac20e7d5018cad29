// Authenticates messages through a thread of one build, and prints what they cost.
//
//     node authenticate-run.mjs TREE LETTERS.json DNS AT-ONCE WARM-UP MESSAGES
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'

const [tree, file, dns, atOnce, warmUp, messages] = process.argv.slice(2)
const load = (name) => import(join(tree, 'dist/src', name))
const { MessageThreads } = await load('inbound/receiving/threads/message-threads.js')
const { MessageBytes } = await load('base/storage/db/message-bytes.js')
const { openResolver } = await load('base/platform/dns/resolver.js')
const { scanHeader } = await load('base/mail/header-fields.js')

const connection = { clientAddress: '127.0.0.1', helo: 'client.test', hostname: 'mail.home.test' }
const letters = JSON.parse(readFileSync(file, 'utf8')).letters.map(({ from, message }) => {
  const raw = Buffer.from(message)
  return { raw, header: scanHeader(raw), connection: { ...connection, envelopeFrom: from } }
})
const stop = new AbortController()
const servers = [{ address: dns, port: 53 }]
const resolver = openResolver({ servers, timeout: 3000, tries: 3, cacheSize: 20_000 }, Date.now, stop.signal)
const onFailure = (cause) => {
  throw cause
}
const threads = new MessageThreads({ resolver, clock: Date.now, onFailure }, 1)

let taken = 0

async function authenticate(count) {
  const end = taken + count
  const session = async () => {
    while (taken < end) {
      const at = taken++
      const { raw, header, connection } = letters[at % letters.length]
      const { authentication } = await threads.authenticate(
        MessageBytes.lent(Buffer.from(raw)),
        header,
        connection,
        null,
      )
      const { spf, dkim, dmarc, iprev } = authentication
      const results = [spf, ...dkim, dmarc, iprev].map(({ result }) => result)
      if (results.length !== 4 || results.some((result) => result !== 'pass')) throw new Error(results.join())
    }
  }
  await Promise.all(Array.from({ length: Number(atOnce) }, session))
}

await authenticate(Number(warmUp))
const before = process.cpuUsage()
const begun = performance.now()
await authenticate(Number(messages))
const seconds = (performance.now() - begun) / 1000
const { user, system } = process.cpuUsage(before)
const megabytes = process.memoryUsage().rss / 1_048_576
console.log(
  JSON.stringify({
    rate: messages / seconds,
    seconds,
    messages: Number(messages),
    cpu: (user + system) / 1e6,
    megabytes,
  }),
)
await threads.stop()
stop.abort()
