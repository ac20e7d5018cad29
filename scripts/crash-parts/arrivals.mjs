// What has arrived whole at the MX: when each number and each contact's message of the broadcast; and how often each event
// came to the webhook.
import { setTimeout as sleep } from 'node:timers/promises'
import { openRows, readRows } from '../lib/rows.mjs'
import { EVENT_TYPES } from '../lib/webhook-endpoint.mjs'

/** Tracked messages that wait for their reader. */
const MAX_UNREAD = 100

export class Arrivals {
  /** The moments at which each arrived. */
  numbers = new Map()
  contacts = new Map()
  #unread = []

  /** A number counts when the final dot was read, whether or not our 250 arrives. */
  take(message) {
    const contact = /^To: .*contact(\d+)@/m.exec(message)?.[1]
    const number = Number(contact ?? /^X-Number: (\d+)/m.exec(message)?.[1])
    const moments = contact === undefined ? this.numbers : this.contacts
    if (isWhole(message)) moments.set(number, [...(moments.get(number) ?? []), Date.now()])
    const isTracked = contact === undefined && message.includes('/v1/track/')
    if (isTracked && this.#unread.length < MAX_UNREAD) this.#unread.push(message)
  }

  takeMessage() {
    return this.#unread.shift()
  }
}

/** It has as many lines of text as it states, if it states that. */
function isWhole(message) {
  const stated = /^X-Lines: (\d+)/m.exec(message)?.[1]
  return stated === undefined || message.endsWith(`\r\n\r\n${'some text\r\n'.repeat(Number(stated)).slice(0, -2)}`)
}

/** Whether each contact of the broadcast has one email, which arrived, and whether its counts are those of its emails. */
export async function balanceBroadcast(database, { broadcast, contacts, arrivals }) {
  const rows = await openRows(database)
  const one = async (what) => (await rows.read(`select ${what}`, []))[0].count
  const emails = await one('count(*) as count from emails where broadcast_id is not null')
  const reached = await one('count(distinct contact_id) as count from broadcast_messages')
  const delivered = await one(`count(*) as count from emails where broadcast_id is not null and status = 'delivered'`)
  await rows.close()
  const again = [...arrivals.values()].filter((moments) => moments.length > 1).length
  const counts = [emails, reached, arrivals.size, delivered, broadcast.recipients, broadcast.delivered]
  return {
    good: broadcast.status === 'sent' && counts.every((count) => count === contacts),
    line: `broadcast ${broadcast.status}: contacts ${contacts}, emails ${emails}, of so many contacts ${reached}, arrived ${arrivals.size}, duplicated ${again}, delivered ${broadcast.delivered}`,
  }
}

/** The figures of a webhook once each event of the log has come, or when `seconds` are over. `times`: by event id. */
export async function balanceEvents(database, times, seconds) {
  let missing = await countMissing(database, times)
  for (let waited = 0; waited < seconds && missing > 0; waited += 1) {
    await sleep(1000)
    missing = await countMissing(database, times)
  }
  const repeated = [...times.values()].filter((count) => count > 1).length
  const line = `webhook: events ${times.size}, missing ${missing}, more than once ${repeated}`
  return { missing, count: times.size, line }
}

/** Events of the log that did not come. */
async function countMissing(database, times) {
  const types = EVENT_TYPES.map((type) => `'${type}'`).join(', ')
  const events = await readRows(database, `select id from events where type in (${types})`)
  return events.filter(({ id }) => !times.has(id)).length
}
