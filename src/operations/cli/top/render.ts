/** A snapshot as lines of text. */
import type { TopSnapshot } from './snapshot.js'

const MEGABYTE = 1_048_576

export function renderSnapshot(snapshot: TopSnapshot): readonly string[] {
  return [
    ...renderDaemon(snapshot),
    '',
    ...renderActivity(snapshot),
    '',
    ...renderQueue(snapshot),
    ...renderServices(snapshot),
    '',
    ...renderDestinations(snapshot),
    '',
    ...renderSenders(snapshot),
  ]
}

function renderDaemon({ at, daemon: { state, status } }: TopSnapshot): readonly string[] {
  const time = at.replace('T', ' ').replace(/\.\d+Z$/, 'Z')
  if (status === null) {
    const why = state === 'stopped' ? 'is not running' : 'holds the data folder and has written no status'
    return [`posthorn  ${time}`, `daemon    ${why}`]
  }
  const up = formatAge(Date.parse(at) - Date.parse(status.started_at))
  const { event_loop_delay_ms: delay, sessions, rates, node } = status
  const place = node === null ? '' : `  node ${node.name} (${node.state}${node.leads ? ', leads' : ''})`
  return [
    `posthorn  ${time}  version ${status.version}${place}  pid ${status.pid}  up ${up}${state === 'silent' ? '  STATUS IS OLD' : ''}`,
    `daemon    event loop p50 ${formatDelay(delay.p50)} p99 ${formatDelay(delay.p99)} max ${formatDelay(delay.max)} ms  main thread ${Math.round(rates.main_thread_load * 100)} %  memory ${formatSize(status.rss)}  heap ${formatSize(status.heap_used)}`,
    `sessions  submission ${sessions.submission}  MX ${sessions.mx}  API ${sessions.api}  attempts under way ${status.attempts_under_way}  commits ${rates.commits_per_second}/s`,
  ]
}

function renderActivity({ activity }: TopSnapshot): readonly string[] {
  const head = ['PER SECOND', 'ACCEPTED', 'DELIVERED', 'DEFERRED', 'BOUNCED', 'RECEIVED']
  const rows = activity.map(({ seconds, exact, accepted, delivered, deferred, bounced, received }) => [
    `last ${formatAge(seconds * 1_000)}`,
    ...[accepted, delivered, deferred, bounced, received].map(
      (count) => `${exact || count === 0 ? '' : '~'}${formatRate(count / seconds)}`,
    ),
  ])
  return alignColumns([head, ...rows])
}

function renderQueue({ at, queue }: TopSnapshot): readonly string[] {
  const states = Object.entries(queue.states).map(([state, count]) => `${state} ${formatCount(count)}`)
  const oldest = queue.oldest_at === null ? '' : `  oldest ${formatAge(Date.parse(at) - Date.parse(queue.oldest_at))}`
  const counted = queue.complete ? '' : '  (being counted)'
  const reasons = queue.reasons.map(({ reason, total }) => `${reason}: ${formatCount(total)}`)
  return [
    `queue     ${formatCount(queue.total)}  ${states.join('  ')}${oldest}${counted}`,
    ...(reasons.length === 0 ? [] : [`reasons   ${reasons.join(' · ')}`]),
  ]
}

function renderServices({ inbound, webhooks, disk }: TopSnapshot): readonly string[] {
  const { clean, suspicious, spam, unscored, complete } = inbound
  const most = complete ? 'last hour' : 'newest 1,000'
  return [
    `inbound   ${most}: clean ${clean}  suspicious ${suspicious}  spam ${spam}  not scored ${unscored}`,
    `webhooks  enabled ${webhooks.enabled}  failing ${webhooks.failing}  behind by ${formatCount(webhooks.behind)} events`,
    `disk      free ${formatSize(disk.free)} of ${formatSize(disk.total)}  database ${formatSize(disk.database)}  write-ahead log ${formatSize(disk.wal)}  spool ${formatSize(disk.spool)}`,
  ]
}

function renderDestinations({ destinations: { since, data } }: TopSnapshot): readonly string[] {
  if (since === null) return ['no attempts in the last ten minutes']
  const head = [
    `DESTINATION, SINCE ${since.slice(11, 19)}`,
    ...['ATTEMPTS', 'DELIVERED', 'DEFERRED', 'BOUNCED', 'DEFERRED FOR'],
  ]
  const rows = data.map(({ destination, attempts, delivered, deferred, bounced, reason }) => [
    ...[destination, ...[attempts, delivered, deferred, bounced].map(formatCount)],
    reason ?? '',
  ])
  return alignColumns([head, ...rows], [5])
}

function renderSenders({ senders }: TopSnapshot): readonly string[] {
  if (senders.length === 0) return ['nothing was accepted in the last hour']
  const rows = senders.map(({ workspace_id, name, accepted }) => [workspace_id, formatCount(accepted), name])
  return alignColumns([['SENDER, LAST HOUR', 'ACCEPTED', 'NAME'], ...rows], [2])
}

/** The first column and those of `texts` to the left, the others to the right. */
function alignColumns(rows: readonly (readonly string[])[], texts: readonly number[] = []): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return column === 0 || texts.includes(column) ? cell.padEnd(width) : cell.padStart(width)
      })
      .join('  ')
      .trimEnd(),
  )
}

function formatCount(count: number): string {
  return count.toLocaleString('en')
}

function formatRate(rate: number): string {
  return rate >= 100 ? formatCount(Math.round(rate)) : rate.toFixed(rate === 0 || rate >= 10 ? 1 : 2)
}

function formatDelay(milliseconds: number): string {
  return milliseconds.toFixed(1)
}

function formatSize(bytes: number): string {
  if (bytes >= 1_024 * MEGABYTE) return `${(bytes / 1_024 / MEGABYTE).toFixed(1)} GB`
  return `${(bytes / MEGABYTE).toFixed(bytes < 10 * MEGABYTE ? 1 : 0)} MB`
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** The two largest units, such as `2 d 3 h` or `1 min`. */
export function formatAge(milliseconds: number): string {
  let left = Math.max(0, milliseconds)
  const parts: string[] = []
  for (const [unit, size] of units) {
    const count = Math.floor(left / size)
    left -= count * size
    if (count > 0 && parts.length < 2) parts.push(`${count} ${unit}`)
    else if (parts.length > 0) break
  }
  return parts.join(' ') || '0 s'
}
