/** Shows what other servers report about a domain: who sends in its name and passes DMARC, and how TLS to its hosts went. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { ChoiceBar, useChoice } from '../../components/choice-bar.tsx'
import { readNow } from '../../components/clock.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { DmarcSummary } from './dmarc-summary.tsx'
import type { Domain } from './domain.ts'
import { ReportList } from './report-list.tsx'
import { TlsSummary } from './tls-summary.tsx'

const windows = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '400', label: 'All' },
]
/** Milliseconds. */
const DAY = 86_400_000

export function DomainReports({ domain: { id, domain, dmarc_record: dmarc } }: { readonly domain: Domain }): VNode {
  const [days, choose] = useChoice('days', windows, '30')
  const from = new Date(readNow() - Number(days) * DAY).toISOString()
  const summary = useLoad(() => loadSummary(id, from), [id, days])
  return (
    <>
      <div class="window">
        <ChoiceBar label="Time of the reports" choices={windows} chosen={days} onChoose={choose} />
      </div>
      <Loaded from={summary}>
        {(found) => {
          if (found === null || found.dmarc.reporters.length + found.tls.reporters.length === 0)
            return <NoReport domain={domain} record={dmarc.value} />
          return (
            <>
              <DmarcSummary domain={domain} summary={found.dmarc} />
              <TlsSummary domain={domain} summary={found.tls} />
              <ReportList id={id} from={from} windowKey={days} />
            </>
          )
        }}
      </Loaded>
    </>
  )
}

async function loadSummary(id: string, from: string) {
  const params = { path: { id }, query: { from, limit: 1 } }
  return (await unwrap(api.GET('/v1/domains/{id}/reports', { params }))).summary
}

function NoReport({ domain, record }: { readonly domain: string; readonly record: string }): VNode {
  return (
    <Empty title="No report in this time">
      <p>
        Large providers report once a day who sends in the name of {domain}. For reports to arrive here, the DMARC
        record of the domain must name this server: {record}
      </p>
      <p>The first reports arrive one or two days after mail was sent to such providers.</p>
    </Empty>
  )
}
