/**
 * Lists what needs attention: what the daily checks found, and what the same checks find now. The counts are those of the
 * list. A button runs all checks now.
 */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { Note, Time } from '../../components/values.tsx'
import { ConcernList, countConcerns } from '../overview/concern-list.tsx'
import type { ServiceConcerns } from './operator-types.ts'

/** Milliseconds between two loads. */
const REFRESH = 10_000

const loadConcerns = (): Promise<ServiceConcerns> => unwrap(sessionApi.GET('/ui/api/operator/concerns'))

export function AttentionSection(): VNode {
  const found = useLoad(loadConcerns, [], { every: () => REFRESH })
  const run = async (): Promise<void> => {
    await unwrap(sessionApi.POST('/ui/api/operator/doctor'))
    found.replace(await loadConcerns())
  }
  return (
    <Section
      title="Needs attention"
      intro="The list has what the service shows now and what its daily checks found. The checks look at the machine, its DNS and the work of the service, as the command “posthorn doctor” does."
      actions={<Button onClick={run}>Check now</Button>}
    >
      <Loaded from={found}>
        {(data) => (
          <>
            {data.local_trial ? <TrialNote /> : null}
            <Summary found={data} />
            {data.concerns.length === 0 ? (
              <Note tone="good">
                <p>Nothing needs attention.</p>
              </Note>
            ) : (
              <ConcernList concerns={data.concerns} />
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}

function TrialNote(): VNode {
  return (
    <Note tone="info" title="This is a local trial: checks of the public DNS are left out">
      <p>
        Other machines cannot connect to this server, and its name cannot be in the public DNS. “Check now” looks at the
        machine and the work of the service.
      </p>
    </Note>
  )
}

function Summary({ found: { checked_at: checkedAt, passed, concerns } }: { readonly found: ServiceConcerns }): VNode {
  return (
    <p>
      {concerns.length === 0 ? null : `${countConcerns(concerns)}. `}
      {checkedAt === null ? null : (
        <>
          All checks ran <Time at={checkedAt} kind="relative" />; {formatNumber(passed)} of their results are all right.
        </>
      )}
    </p>
  )
}
