// How long a daemon takes from its start until it serves: the first greeting over SMTP and the first answer over HTTPS.
import { get } from 'node:https'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds between two tries: short beside the times that are measured. */
const INTERVAL = 10
/** Milliseconds. */
const TIMEOUT = 120_000

/** Milliseconds until both, from now. To be called when the process was started. */
export async function timeDoors({ port, api }) {
  const begun = performance.now()
  const until = async (tryOnce) => {
    for (;;) {
      if (await tryOnce()) return performance.now() - begun
      if (performance.now() - begun > TIMEOUT) throw new Error('the daemon does not serve')
      await sleep(INTERVAL)
    }
  }
  const [smtp, https] = await Promise.all([until(() => greets(port)), until(() => isHealthy(api.port))])
  return { smtp, https }
}

function greets(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (greeted) => {
      socket.destroy()
      resolve(greeted)
    }
    socket.once('data', (greeting) => end(greeting.toString('latin1').startsWith('220 ')))
    socket.once('error', () => end(false)).once('close', () => end(false))
  })
}

function isHealthy(port) {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path: '/healthz', agent: false, rejectUnauthorized: false }
    const request = get(options, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    request.once('error', () => resolve(false))
  })
}
