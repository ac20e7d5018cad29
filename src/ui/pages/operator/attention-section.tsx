/**
 * Lists what needs attention: what the state of the service shows now, and what the daily checks found. Each item
 * says what to do, and a button runs the checks now.
 */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { type Loading, useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { readNow } from '../../components/clock.ts'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { Copy, Note, Time } from '../../components/values.tsx'
import { type Concern, findConcerns } from './health-concerns.ts'
import type { DoctorFindings, Health } from './operator-types.ts'

export function AttentionSection({ health }: { readonly health: Health }): VNode {
  const found = useLoad(() => unwrap(sessionApi.GET('/ui/api/operator/doctor')))
  const run = async (): Promise<void> => found.replace(await unwrap(sessionApi.POST('/ui/api/operator/doctor')))
  const concerns = findConcerns(health, found.data?.findings ?? [], readNow())
  return (
    <Section
      title="Needs attention"
      intro="The list has what the service shows now and what its daily checks found. The checks look at the machine, its DNS and the work of the service, as the command “posthorn doctor” does."
      actions={<Button onClick={run}>Check now</Button>}
    >
      <Loaded from={found}>{(data) => <LastRun found={data} />}</Loaded>
      {concerns.map((concern) => (
        <ConcernNote key={concern.key} concern={concern} />
      ))}
      {concerns.length === 0 && isAllKnown(found) ? (
        <Note tone="good">
          <p>Nothing needs attention.</p>
        </Note>
      ) : null}
    </Section>
  )
}

/** True if every check was run and had an answer. Then an empty list means that nothing is wrong. */
function isAllKnown({ data, error }: Loading<DoctorFindings>): boolean {
  return data !== undefined && error === null && data.checked_at !== null && countUnanswered(data) === 0
}

/** Counts the checks without an answer. Stored findings have one. */
function countUnanswered({ totals, findings }: DoctorFindings): number {
  return totals.warn + totals.fail - findings.length
}

function LastRun({ found }: { readonly found: DoctorFindings }): VNode {
  const { checked_at: checkedAt, totals } = found
  if (checkedAt === null) return <p>The daily checks have not run yet.</p>
  return (
    <p>
      Checked <Time at={checkedAt} kind="relative" />: {formatNumber(totals.ok)} all right, {formatNumber(totals.warn)}{' '}
      warnings, {formatNumber(totals.fail)} failures.
      {countUnanswered(found) > 0
        ? ' Some warnings are checks without an answer, which are not listed here. “posthorn doctor” shows them.'
        : null}
    </p>
  )
}

function ConcernNote({ concern: { tone, title, text, link, commands } }: { readonly concern: Concern }): VNode {
  return (
    <Note tone={tone} title={title}>
      <p>
        {text} {link === undefined ? null : <Link href={link.href}>{link.label}</Link>}
      </p>
      {commands.length === 0 ? null : (
        <ul>
          {commands.map((line) => (
            <li key={line}>
              <Copy text={line} label={`what to do: ${title}`} />
            </li>
          ))}
        </ul>
      )}
    </Note>
  )
}
