/** Shows the mail of the workspace that is in the queue at this moment. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/session-schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { Figures } from '../../components/figures.tsx'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'

type QueueCounts = components['schemas']['QueueCounts']

/** Milliseconds between two loads. */
const PAUSE = 10_000

/** The page shows these states even if they have no entries. */
const usual: readonly string[] = ['waiting', 'sending', 'deferred', 'scheduled']

const kinds = [
  ['waiting', 'Waiting', 'for their first attempt'],
  ['sending', 'Being sent', 'at this moment'],
  ['deferred', 'Deferred', 'retried later'],
  ['unreachable', 'Host down', 'sent when it answers'],
  ['scheduled', 'Scheduled', 'for a later time'],
  ['paused', 'Paused', 'with their broadcast'],
  ['held', 'Held', 'by the operator'],
  ['held_by_members', 'Held by members', 'until one releases it'],
] as const satisfies readonly (readonly [keyof QueueCounts, string, string])[]

export function QueueNow(): VNode {
  const counts = useLoad(() => unwrap(sessionApi.GET('/ui/api/queue')), [], { every: () => PAUSE })
  return (
    <Section title="Queue now" intro="Recipients whose mail is neither delivered nor failed.">
      <Loaded from={counts}>
        {(found) => (
          <>
            <Figures
              figures={kinds
                .filter(([kind]) => found[kind] > 0 || usual.includes(kind))
                .map(([kind, name, remark]) => ({ name, value: formatNumber(found[kind]), remark }))}
            />
            {found.complete ? null : (
              <p class="soft">The queue is long: the numbers are those of the entries that are due first.</p>
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}
