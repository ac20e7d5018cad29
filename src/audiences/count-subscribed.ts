/** Counts the subscribed contacts of an audience: those that a broadcast to it would go to. */
import { sql } from 'kysely'
import { prepareRead, type Read } from '../storage/prepared.js'
import { INDEX_STEP, waitForStep } from '../storage/stepped-walk.js'

const countStep = prepareRead<{ workspaceId: string; audienceId: string; after: string }>()(({ db, slot }) =>
  db
    .selectFrom(
      db
        .selectFrom('contacts')
        .select(['id', 'subscribed'])
        .where('workspace_id', '=', slot('workspaceId'))
        .where('audience_id', '=', slot('audienceId'))
        .where('id', '>', slot('after'))
        .orderBy('id')
        .limit(INDEX_STEP)
        .as('step'),
    )
    .select((eb) => [
      eb.fn.countAll<number>().as('contacts'),
      eb.fn.coalesce(eb.fn.sum<number>('subscribed'), sql.lit(0)).as('subscribed'),
      eb.fn.max<string | null>('id').as('last'),
    ]),
)

interface AudienceNumbers {
  readonly contacts: number
  readonly subscribed: number
}

/** Of this moment; contacts that are added while it counts may be among them. */
export async function countSubscribed(read: Read, workspaceId: string, audienceId: string): Promise<AudienceNumbers> {
  let numbers = { contacts: 0, subscribed: 0 }
  let after = ''
  for (;;) {
    const [step] = countStep(read, { workspaceId, audienceId, after })
    if (step === undefined || step.last === null) return numbers
    const { contacts, subscribed } = numbers
    numbers = { contacts: contacts + step.contacts, subscribed: subscribed + step.subscribed }
    if (step.contacts < INDEX_STEP) return numbers
    after = step.last
    await waitForStep()
  }
}
