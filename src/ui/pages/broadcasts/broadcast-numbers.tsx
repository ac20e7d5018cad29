/** Shows what became of the messages of a broadcast, in numbers that lead to their recipients. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { Figures } from '../../components/figures.tsx'
import { formatNumber, formatPercent } from '../../components/format.ts'
import { PASSED_ON_MEANING } from '../../components/mail-state.tsx'
import { Section } from '../../components/page.tsx'
import { Facts } from '../../components/values.tsx'
import type { Broadcast } from './broadcast.ts'
import { describeOutcome, type Outcome } from './outcome.ts'

interface NumbersProps {
  readonly broadcast: Broadcast
}

export function BroadcastNumbers({ broadcast }: NumbersProps): VNode {
  const { id, recipients, queued, sent, failed, cancelled } = broadcast
  const link = (count: number, outcome: Outcome) => <CountLink id={id} count={count} outcome={outcome} />
  const counts = {
    Recipients: <CountLink id={id} count={recipients} />,
    'In the queue': link(queued, 'queued'),
    Sent: link(sent, 'sent'),
    Failed: link(failed, 'failed'),
    Cancelled: link(cancelled, 'cancelled'),
  }
  return (
    <Section
      title="Results"
      intro="Opens and clicks count people. Programs, such as scanners, do not count. Each number leads to its recipients."
    >
      <Outcomes broadcast={broadcast} />
      <Facts facts={Object.entries(counts).map(([name, value]) => ({ name, value }))} />
    </Section>
  )
}

function Outcomes({ broadcast }: NumbersProps): VNode {
  const {
    id,
    sent,
    delivered,
    bounced,
    unsubscribed,
    complained,
    unique_opens: opens,
    unique_clicks: clicks,
  } = broadcast
  const reached = Math.max(0, sent - bounced)
  const isRelayed = reached > delivered
  const ofSent = (count: number) => describeShare(count, sent, 'sent')
  const ofReached = (count: number) => describeShare(count, reached, isRelayed ? 'passed on or delivered' : 'delivered')
  const link = (count: number, outcome: Outcome) => <CountLink id={id} count={count} outcome={outcome} />
  const relayed = { name: 'Passed on or delivered', value: formatNumber(reached), ...ofSent(reached) }
  return (
    <>
      <Figures
        figures={[
          ...(isRelayed ? [relayed] : []),
          { name: 'Delivered', value: link(delivered, 'delivered'), ...ofSent(delivered) },
          { name: 'Opened', value: link(opens, 'opened'), ...ofReached(opens) },
          { name: 'Clicked', value: link(clicks, 'clicked'), ...ofReached(clicks) },
          { name: 'Unsubscribed', value: link(unsubscribed, 'unsubscribed'), ...ofReached(unsubscribed) },
          { name: 'Bounced', value: link(bounced, 'bounced'), ...ofSent(bounced) },
          { name: 'Complained', value: link(complained, 'complained') },
        ]}
      />
      {isRelayed ? <p class="row-note">{PASSED_ON_MEANING}</p> : null}
    </>
  )
}

interface CountLinkProps {
  readonly id: string
  readonly count: number
  /** Undefined for all recipients. */
  readonly outcome?: Outcome
}

/** A count that leads to the recipients that it counts, if there are any. */
function CountLink({ id, count, outcome }: CountLinkProps): VNode {
  const shown = formatNumber(count)
  if (count === 0) return <>{shown}</>
  const href = `/broadcasts/${id}/recipients${outcome === undefined ? '' : `?status=${outcome}`}`
  const what = outcome === undefined ? 'recipients' : describeOutcome(outcome).label
  return (
    <Link href={href} aria-label={`${shown} ${what}: show who`}>
      {shown}
    </Link>
  )
}

/** Describes the share of `whole`, or returns nothing if there is none. */
function describeShare(part: number, whole: number, what: string): { remark?: string } {
  return whole === 0 ? {} : { remark: `${formatPercent(Math.min(1, part / whole))} of those ${what}` }
}
