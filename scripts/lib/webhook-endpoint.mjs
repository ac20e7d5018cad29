// The endpoint of a webhook: counts how often each event came; can fail or be slow.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

export const EVENT_TYPES = [
  'email.queued',
  'email.sent',
  'email.delivered',
  'email.bounced',
  'email.failed',
  'email.opened',
  'email.clicked',
  'email.received',
]

/** `mode` of the result: "ok", "failing" (500), "slow" (4 s). */
export async function openEndpoint() {
  const times = new Map()
  const state = { mode: 'ok' }
  const server = createServer((request, response) => {
    const take = async () => {
      const { id } = await json(request)
      if (state.mode === 'slow') await sleep(4_000)
      response.statusCode = state.mode === 'failing' ? 500 : 200
      if (response.statusCode === 200) times.set(id, (times.get(id) ?? 0) + 1)
      response.end()
    }
    take().catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    times,
    state,
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
