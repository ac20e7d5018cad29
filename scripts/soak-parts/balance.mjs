// Compares what was acknowledged with the database and with what has arrived. Each result is { name, text, good }.
import { openRows } from '../lib/rows.mjs'
import { EVENT_TYPES } from '../lib/webhook-endpoint.mjs'
import { CONTACTS, RETRY_WAITS } from './setting.mjs'

/** States that say what became of a recipient, other than delivered and queued. */
const ENDED = ['bounced', 'failed', 'suppressed', 'cancelled']
const DELIVERED = ['delivered', 'sent']
/** Milliseconds between the final dot of a message and the commit of its outcome, at most. */
const COMMIT_TIME = 6_000
/** Seconds: jitter of retries, and hosts that could not be reached. */
const WAIT_SLACK = 330

/** `cuts`: { from, to } of each absence of the server of the database. */
export async function balance({ database, ledger, endpoint, deaths, cuts, timeline }) {
  const rows = await openRows(database)
  const read = (sql, ...parameters) => rows.read(sql, parameters)
  try {
    return [
      ...(await balanceOutbound(read, ledger)),
      await balanceOnce(read, ledger, timeline),
      await balanceInbound(read, ledger),
      await balanceBroadcasts(read, ledger),
      balanceDuplicates(ledger, [...deaths.map(({ at }) => ({ from: at, to: at })), ...cuts]),
      await balanceEvents(read, endpoint),
      await balanceExports(read, ledger),
      await balanceWaits(read),
    ]
  } finally {
    await rows.close()
  }
}

async function balanceOutbound(read, ledger) {
  const stored = await readRecipients(read)
  return ['smtp', 'smtps', 'rest'].map((via) => {
    const counts = { messages: 0, recipients: 0, delivered: 0, ended: {}, queued: 0 }
    const lost = []
    for (const [number, { via: by, id, keys }] of ledger.accepted) {
      if (by !== via) continue
      counts.messages += 1
      for (const key of keys) judge({ number, id, key }, stored, ledger, counts, lost)
    }
    const ended = Object.entries(counts.ended).map(([why, times]) => `${times} ${why}`)
    const words = `${counts.messages} messages to ${counts.recipients} recipients: ${counts.delivered} delivered, ${list(ended)}, ${counts.queued} queued, ${lost.length} lost`
    return {
      name: `acknowledged over ${via}`,
      text: `${words}${examples(lost)}`,
      good: lost.length === 0 && counts.messages > 0,
    }
  })
}

function judge({ number, id, key }, stored, ledger, counts, lost) {
  counts.recipients += 1
  const row = stored.get(`${id} ${key}`)
  const { status } = row ?? {}
  if (DELIVERED.includes(status) && ledger.arrivals.has(key)) counts.delivered += 1
  else if (ENDED.includes(status)) {
    const why = key.startsWith('gone') ? 'refused by their host' : `${status} (${row.reason})`
    counts.ended[why] = (counts.ended[why] ?? 0) + 1
  } else if (row?.waits === 1) counts.queued += 1
  else
    lost.push(
      `${number} ${key} ${id}: ${row === undefined ? 'no row' : `${status}, arrived ${ledger.arrivals.has(key)}`}`,
    )
}

async function readRecipients(read) {
  const rows = await read(
    `select email_id, address, status, reason, (select count(*) from queue where queue.id = recipients.id) as waits from recipients`,
  )
  const stored = new Map()
  for (const { email_id: id, address, status, reason, waits } of rows)
    stored.set(`${id} ${address.split('@')[0]}`, { status, reason, waits })
  return stored
}

/** Requests with an idempotency key: each that was answered is exactly one email, each that was not is at most one. */
async function balanceOnce(read, ledger, timeline) {
  const made = new Map()
  for (const { subject } of await read(`select subject from emails where subject like 'number %'`)) {
    const number = Number(subject.slice(7))
    made.set(number, (made.get(number) ?? 0) + 1)
  }
  let [repeated, unanswered] = [0, 0]
  const wrong = []
  for (const [number, { tries, firstAt, lastAt }] of ledger.once) {
    const count = made.get(number) ?? 0
    const isAnswered = ledger.accepted.has(number)
    if (tries > 1) repeated += 1
    if (!isAnswered) unanswered += 1
    if (count > 1 || (isAnswered && count === 0))
      wrong.push(
        `${number}: ${count} emails, between ${firstAt} and ${lastAt}, in ${timeline.at(firstAt, 0).map(({ fault }) => fault.name)}`,
      )
  }
  const text = `${ledger.once.size} requests, ${repeated} made again, ${unanswered} without an answer, ${wrong.length} that became several emails or none${examples(wrong)}`
  return { name: 'idempotency keys', text, good: wrong.length === 0 }
}

/** Inbound mail is announced once; it may wait, or be filed unread with its bytes if it was in hand at two deaths. */
async function balanceInbound(read, ledger) {
  const rows = await read(
    `select id, status, (select count(*) from inbound_raw where inbound_id = id) as kept from inbound_emails`,
  )
  const inbound = new Map(rows.map((row) => [row.id, { ...row, announced: 0 }]))
  for (const { data } of await read(`select data from events where type = 'email.received'`)) {
    const found = inbound.get(JSON.parse(data).inbound_email_id)
    if (found !== undefined) found.announced += 1
  }
  const counts = { processed: 0, waiting: 0, unread: 0 }
  const lost = []
  let total = 0
  for (const { via, id } of ledger.accepted.values()) {
    if (via !== 'mx') continue
    total += 1
    const { status, announced, kept } = inbound.get(id) ?? {}
    if (status === 'processed' && announced === 1) counts.processed += 1
    else if (status === 'received' && kept === 1) counts.waiting += 1
    else if (status === 'failed' && kept === 1) counts.unread += 1
    else lost.push(`${id}: ${status}, announced ${announced}`)
  }
  const text = `${total} messages: ${counts.processed} processed and announced once, ${counts.waiting} waiting, ${counts.unread} filed unread, ${lost.length} lost${examples(lost)}`
  return { name: 'acknowledged at the MX listener', text, good: lost.length === 0 && total > 0 }
}

async function balanceBroadcasts(read, ledger) {
  const [{ suppressed }] = await read(
    `select count(*) as suppressed from suppressions where email like 'c%@d_.sink.test'`,
  )
  const wrong = []
  let messages = 0
  for (const { id, number } of ledger.broadcasts) {
    const [found] = await read(
      'select count(*) as messages, count(distinct contact_id) as contacts from broadcast_messages where broadcast_id = ?',
      id,
    )
    const [{ status }] = await read('select status from broadcasts where id = ?', id)
    messages += found.messages
    const isWhole = found.contacts >= CONTACTS - suppressed && found.messages === found.contacts
    if (!isWhole || status !== 'sent')
      wrong.push(`number ${number}: ${status}, ${found.messages} messages for ${found.contacts} contacts`)
  }
  const text = `${ledger.broadcasts.length} sent, ${messages} messages, one for each of ${CONTACTS} contacts (${suppressed} of them suppressed by the end), ${wrong.length} incomplete${examples(wrong)}`
  return { name: 'broadcasts', text, good: wrong.length === 0 }
}

/**
 * A message may arrive again if our 250 was cut off, or if the daemon died, or its database went away, before it had stored the
 * outcome.
 */
function balanceDuplicates(ledger, ends) {
  let [cut, dead] = [0, 0]
  const unexplained = []
  for (const [key, arrivals] of ledger.arrivals) {
    for (const { at, cut: isCut } of arrivals.slice(0, -1)) {
      if (isCut) cut += 1
      else if (ends.some(({ from, to }) => at <= to + 500 && from <= at + COMMIT_TIME)) dead += 1
      else unexplained.push(`${key} at ${arrivals.map((arrival) => new Date(arrival.at).toISOString())}`)
    }
  }
  const text = `${cut + dead + unexplained.length}: ${cut} after a connection that the MX host cut off before its 250, ${dead} after a death of the daemon or its database, ${unexplained.length} without a reason${examples(unexplained)}`
  return { name: 'arrived again', text, good: unexplained.length === 0 }
}

async function balanceEvents(read, endpoint) {
  const types = EVENT_TYPES.map((type) => `'${type}'`).join(', ')
  const deliveries = await read('select event_id, status from webhook_deliveries')
  const idsOf = (state) => new Set(deliveries.filter(({ status }) => status === state).map((row) => row.event_id))
  const [pending, failed] = [idsOf('pending'), idsOf('failed')]
  const counts = { events: 0, pending: 0, failed: 0 }
  const missing = []
  for (const { id, type } of await read(`select id, type from events where type in (${types})`)) {
    counts.events += 1
    if (endpoint.times.has(id)) continue
    if (pending.has(id)) counts.pending += 1
    else if (failed.has(id)) counts.failed += 1
    else missing.push(`${id} ${type}`)
  }
  const again = [...endpoint.times.values()].filter((times) => times > 1).length
  const text = `${counts.events} events: ${counts.pending} pending, ${counts.failed} given up, ${missing.length} missing, ${again} came more than once${examples(missing)}`
  return { name: 'events to the webhook', text, good: missing.length === 0 }
}

async function balanceExports(read, ledger) {
  const rows = await read(`select status, error, count(*) as times from exports group by status, error`)
  const open = rows.filter(({ status }) => status === 'processing').reduce((sum, { times }) => sum + times, 0)
  const states = rows.map(({ status, error, times }) => `${times} ${status}${error === null ? '' : ` (${error})`}`)
  return { name: 'exports', text: `${ledger.exports.length} made; at the end ${list(states)}`, good: open === 0 }
}

/** No entry waits for longer than the schedule says: steps of the clock leave nothing behind. */
async function balanceWaits(read) {
  const limit = Date.now() + (RETRY_WAITS.at(-1) + WAIT_SLACK) * 1_000
  const late = await read('select recipient, next_attempt_at from queue where next_attempt_at > ?', limit)
  const [{ entries }] = await read('select count(*) as entries from queue')
  const words = late.map((row) => `${row.recipient} until ${new Date(row.next_attempt_at).toISOString()}`)
  return {
    name: 'queue',
    text: `${entries} entries, ${late.length} of them with an attempt later than the schedule says${examples(words)}`,
    good: late.length === 0,
  }
}

/** Of a database of PostgreSQL. */
export async function checkIndexes(url) {
  const rows = await openRows(url)
  try {
    await rows.read('create extension if not exists amcheck schema public', [])
    const found = await rows.read(
      `select public.bt_index_check(indexrelid, true) from pg_index join pg_class on pg_class.oid = indexrelid
        where relnamespace = 'posthorn'::regnamespace and relam = (select oid from pg_am where amname = 'btree')`,
      [],
    )
    return { text: `${found.length} indexes have an entry for each row`, good: found.length > 0 }
  } catch (error) {
    return { text: error.message, good: false }
  } finally {
    await rows.close()
  }
}

function list(parts) {
  return parts.length === 0 ? 'none' : parts.join(', ')
}

function examples(lines) {
  return lines.length === 0
    ? ''
    : ` [${lines
        .slice(0, 3)
        .map((line) => line.slice(0, 300))
        .join('; ')}]`
}
