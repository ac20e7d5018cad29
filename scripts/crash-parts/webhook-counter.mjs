// The endpoint of a webhook: counts how often each event came.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'

const types = ['email.queued', 'email.sent', 'email.delivered', 'email.opened', 'email.clicked', 'email.received']

export async function openWebhookCounter() {
  /** By event id, how often it came. */
  const times = new Map()
  const server = createServer((request, response) => {
    json(request).then(
      ({ id }) => {
        times.set(id, (times.get(id) ?? 0) + 1)
        response.end()
      },
      // The daemon was killed while it sent.
      () => response.destroy(),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    /** The body that subscribes it to all that the test causes. */
    subscription: { url: `http://127.0.0.1:${server.address().port}/`, events: types },
    /** The figures once each event of the log has come, or when `seconds` are over. */
    balance: async (databaseFile, seconds) => {
      let missing = missingOf(databaseFile, times)
      for (let waited = 0; waited < seconds && missing > 0; waited += 1) {
        await sleep(1000)
        missing = missingOf(databaseFile, times)
      }
      const repeated = [...times.values()].filter((count) => count > 1).length
      return {
        missing,
        count: times.size,
        line: `webhook: events ${times.size}, missing ${missing}, more than once ${repeated}`,
      }
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Events of the log that did not come. */
function missingOf(databaseFile, times) {
  const database = new Database(databaseFile, { readonly: true })
  let missing = 0
  const events = `select id from events where type in (${types.map((type) => `'${type}'`).join(', ')})`
  for (const { id } of database.prepare(events).iterate()) if (!times.has(id)) missing += 1
  database.close()
  return missing
}
