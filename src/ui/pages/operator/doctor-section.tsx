/** What the daily checks found wrong, each with what to do, and a button that runs them now. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { Copy, Note, Time } from '../../components/values.tsx'
import type { DoctorFindings } from './operator-types.ts'

type DoctorFinding = DoctorFindings['findings'][number]

export function DoctorSection(): VNode {
  const found = useLoad(() => unwrap(sessionApi.GET('/ui/api/operator/doctor')))
  const run = async (): Promise<void> => found.replace(await unwrap(sessionApi.POST('/ui/api/operator/doctor')))
  return (
    <Section
      title="Daily checks"
      intro="The machine, its DNS and the work of the service, as the command “posthorn doctor” checks them."
      actions={<Button onClick={run}>Check now</Button>}
    >
      <Loaded from={found}>{(data) => <Findings found={data} />}</Loaded>
    </Section>
  )
}

function Findings({ found: { checked_at: checkedAt, totals, findings } }: { readonly found: DoctorFindings }): VNode {
  const unanswered = totals.warn - findings.filter(({ state }) => state === 'warn').length
  return (
    <>
      <p>
        {checkedAt === null ? (
          'There was no run yet.'
        ) : (
          <>
            Checked <Time at={checkedAt} kind="relative" />: {formatNumber(totals.ok)} all right,{' '}
            {formatNumber(totals.warn)} warnings, {formatNumber(totals.fail)} failures.
            {unanswered > 0
              ? ' Warnings that are not below are checks without an answer: “posthorn doctor” shows them.'
              : null}
          </>
        )}
      </p>
      {findings
        .toSorted((one, other) => Number(other.state === 'fail') - Number(one.state === 'fail'))
        .map((finding) => (
          <FindingNote key={`${finding.check} ${finding.subject}`} finding={finding} />
        ))}
    </>
  )
}

function FindingNote({ finding: { check, subject, state, text, remedy } }: { readonly finding: DoctorFinding }): VNode {
  return (
    <Note tone={state === 'fail' ? 'bad' : 'warn'} title={`${subject} (${check})`}>
      <p>{text}</p>
      {remedy.length === 0 ? null : (
        <ul>
          {remedy.map((line) => (
            <li key={line}>
              <Copy text={line} label={`what to do about ${subject}`} />
            </li>
          ))}
        </ul>
      )}
    </Note>
  )
}
