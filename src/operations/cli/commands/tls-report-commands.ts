/** `tls-reports`: the reports about TLS of the last days, and what became of each. */

import { formatTimestamp } from '../../../base/platform/clock.js'
import { DAY } from '../../../base/platform/time-units.js'
import { dateOf } from '../../../outbound/delivery/tls-reports/report-day.js'
import { newestReports } from '../../../outbound/delivery/tls-reports/report-records.js'
import { type Answer, type Call, refuseExtraWords } from '../command/command.js'

/** Days that are shown. */
const SHOWN_DAYS = 7
const MAX_SHOWN = 500

export async function listReports({ words, clock, database: openDatabase }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { read } = await openDatabase()
  const reports = await newestReports(read, { from: dateOf(clock() - SHOWN_DAYS * DAY), limit: MAX_SHOWN })
  const json = reports.map(({ day, domain, state, due_at, attempts, reason, settled_at }) => ({
    ...{ day, domain, state, attempts, reason: reason === '' ? null : reason },
    due_at: settled_at === null ? formatTimestamp(due_at) : null,
    settled_at: settled_at === null ? null : formatTimestamp(settled_at),
  }))
  const lines = json.map(({ day, domain, state, reason, due_at }) => {
    const more = [...(due_at === null ? [] : [`due ${due_at}`]), ...(reason === null ? [] : [reason])]
    return [`${day}  ${state.padEnd(8)}  ${domain}`, ...more].join('  ')
  })
  return { json: { reports: json }, lines: lines.length === 0 ? ['no reports in the last week'] : lines }
}
