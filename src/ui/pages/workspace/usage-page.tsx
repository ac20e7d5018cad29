/** Shows what the workspace has used of its plan. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { Chart } from '../../components/chart.tsx'
import { readNow } from '../../components/clock.ts'
import { formatBytes, formatDay, formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Progress } from '../../components/progress.tsx'
import { Facts, Time, toWords } from '../../components/values.tsx'

type PlanUsage = components['schemas']['PlanUsage']
type CreditsUsage = components['schemas']['CreditsUsage']
type Usage = PlanUsage | CreditsUsage

/** Milliseconds. */
const DAY = 86_400_000

export function UsagePage(): VNode {
  const usage = useLoad(() => unwrap(api.GET('/v1/usage')))
  return (
    <Page title="Usage and limits" intro="The operator of the service sets the plan of the workspace and its limits.">
      <Loaded from={usage}>{(found) => <UsageParts usage={found} />}</Loaded>
    </Page>
  )
}

function UsageParts({ usage }: { readonly usage: Usage }): VNode {
  return (
    <>
      {'usage' in usage ? <PlanEmails usage={usage} /> : <Credits usage={usage} />}
      <Inbound inbound={usage.inbound} />
      <SmsCodes sms={usage.sms} />
    </>
  )
}

function PlanEmails({ usage: { plan, usage, rate_limit: rate } }: { readonly usage: PlanUsage }): VNode {
  const { emails_sent: sent, emails_limit: limit } = usage
  return (
    <Section title="Emails">
      <Facts
        facts={[
          { name: 'Plan', value: toWords(plan) },
          { name: 'Counted since', value: <Time at={usage.period_start} /> },
          { name: 'Emails sent', value: formatNumber(sent) },
          { name: 'Limit per 30 days', value: limit === null ? 'None' : formatNumber(limit) },
          {
            name: 'Limit of requests',
            value: `${formatNumber(rate.requests_per_second)} per second, ${formatNumber(rate.burst_limit)} at once`,
          },
        ]}
      />
      {limit === null ? null : <Progress label="Emails of the last 30 days" done={sent} total={limit} />}
    </Section>
  )
}

function Credits({ usage }: { readonly usage: CreditsUsage }): VNode {
  const { credits_used: used, credits_total: total, credits_remaining: left, credits_expire_at: expires } = usage
  return (
    <Section title="Emails" intro="The plan has credits: each email uses one.">
      <Facts
        facts={[
          { name: 'Credits left', value: formatNumber(left) },
          { name: 'Expire', value: <Time at={expires} otherwise="Never" /> },
        ]}
      />
      <Progress label="Used credits" done={used} total={total} />
    </Section>
  )
}

function Inbound({ inbound: { bytes_held: held, bytes_limit: limit } }: Pick<Usage, 'inbound'>): VNode {
  return (
    <Section
      title="Inbound mail"
      intro="Messages are stored until they are deleted or their retention ends. Each counts its size and 8 kB more for its record."
    >
      {limit === null ? (
        <Facts
          facts={[
            { name: 'Stored', value: formatBytes(held) },
            { name: 'Limit', value: 'None' },
          ]}
        />
      ) : (
        <Progress label="Stored" done={held} total={limit} formatValue={formatBytes} />
      )}
    </Section>
  )
}

type DayOfCodes = Usage['sms']['days'][number]

const SHOWN_DAYS = 30

/** The last days (UTC), including those without codes. */
function fillDays(days: readonly DayOfCodes[]): readonly DayOfCodes[] {
  const known = new Map(days.map((day) => [day.date, day]))
  return Array.from({ length: SHOWN_DAYS }, (_, place) => {
    const date = new Date(readNow() - (SHOWN_DAYS - 1 - place) * DAY).toISOString().slice(0, 'yyyy-mm-dd'.length)
    return known.get(date) ?? { date, sms_sent: 0, segments: 0 }
  })
}

function SmsCodes({ sms }: Pick<Usage, 'sms'>): VNode {
  const { sms_sent: sent, segments, limit_per_day: limit, days } = sms
  const shown = fillDays(days)
  return (
    <Section
      title="Verification codes by SMS"
      intro="A day begins at 00:00 UTC. SMS providers charge per segment; a long message has several."
    >
      <Facts
        facts={[
          { name: 'Codes today', value: formatNumber(sent) },
          { name: 'Segments today', value: formatNumber(segments) },
          { name: 'Limit per 24 hours', value: formatNumber(limit) },
        ]}
      />
      {days.length === 0 ? (
        <p class="section-note">No codes were sent in the last 30 days.</p>
      ) : (
        <Chart
          title="Codes by day"
          times={shown.map(({ date }) => new Date(`${date}T00:00`).toISOString())}
          formatTime={formatDay}
          series={[
            { name: 'Codes', values: shown.map((day) => day.sms_sent) },
            { name: 'Segments', values: shown.map((day) => day.segments) },
          ]}
        />
      )}
    </Section>
  )
}
