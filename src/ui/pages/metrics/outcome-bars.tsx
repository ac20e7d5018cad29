/** Bars of what became of mail: by mailbox provider, and by the reason of bounces and failures. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/session-schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { BarList } from '../../components/bar-list.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { Time, toWords } from '../../components/values.tsx'
import type { MetricsQuery } from './daily-charts.tsx'

type Outcomes = components['schemas']['RecentOutcomes']

export function OutcomeBars({ query }: { readonly query: MetricsQuery }): VNode {
  const load = () => unwrap(sessionApi.GET('/ui/api/metrics/outcomes', { params: { query: { ...query } } }))
  const outcomes = useLoad(load, [JSON.stringify(query)])
  return <Loaded from={outcomes}>{(found) => <Bars outcomes={found} />}</Loaded>
}

function Bars({ outcomes: { since, providers, reasons } }: { readonly outcomes: Outcomes }): VNode | null {
  if (providers.length === 0) return null
  return (
    <>
      <Section
        title="By provider"
        intro="Recipients by the domain of their address, counted when their mail was delivered or failed."
      >
        {since === null ? null : (
          <p>
            There is much mail in this time, so only the newest counts: that since <Time at={since} />.
          </p>
        )}
        <BarList
          caption="Mail by provider"
          title="Provider"
          parts={['Delivered', 'Bounced', 'Failed']}
          rows={providers.map(({ name, delivered, bounced, failed }) => ({
            name,
            values: [delivered, bounced, failed],
          }))}
        />
      </Section>
      {reasons.length === 0 ? null : (
        <Section title="By reason" intro="Why recipients bounced or failed.">
          <BarList
            caption="Bounces and failures by reason"
            title="Reason"
            parts={['Recipients']}
            rows={reasons.map(({ reason, text, count }) => ({ name: toWords(reason), remark: text, values: [count] }))}
          />
        </Section>
      )}
    </>
  )
}
