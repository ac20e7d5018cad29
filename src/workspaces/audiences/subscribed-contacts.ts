/**
 * Counts the subscribed contacts of an audience, and finds one of them in steps, because very many contacts may have
 * unsubscribed.
 */
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import { type Contact, contactById } from './contacts.js'

interface Step {
  readonly workspaceId: string
  readonly audienceId: string
  readonly after: string
}

const stepOfAudience = prepareRead<Step>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .select(['id', 'subscribed'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('audience_id', '=', slot('audienceId'))
    .where('id', '>', slot('after'))
    .orderBy('id')
    .limit(ROW_STEP),
)

/** Finds the oldest one. Undefined means that there is none. */
export async function findSubscribedContact(
  read: Read,
  workspaceId: string,
  audienceId: string,
): Promise<Contact | undefined> {
  let after = ''
  for (;;) {
    const rows = await stepOfAudience(read, { workspaceId, audienceId, after })
    const found = rows.find(({ subscribed }) => subscribed === 1)
    if (found !== undefined) return contactById(read, workspaceId, found.id)
    const last = rows.at(-1)
    if (last === undefined) return undefined
    after = last.id
    await waitForStep()
  }
}

const countsOf = prepareRead<{ workspaceId: string; audienceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('contact_counts')
    .select((eb) => [
      eb.fn.sum<number | null>('count').as('contacts'),
      eb.fn.sum<number | null>('subscribed').as('subscribed'),
    ])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('list', '=', slot('audienceId')),
)

interface AudienceNumbers {
  readonly contacts: number
  readonly subscribed: number
}

/**
 * Counts the contacts of an audience and the subscribed ones, which a broadcast would reach. Triggers keep the numbers
 * (`storage/schema/audiences.ts`).
 */
export async function countSubscribed(read: Read, workspaceId: string, audienceId: string): Promise<AudienceNumbers> {
  const [sums] = await countsOf(read, { workspaceId, audienceId })
  return { contacts: sums?.contacts ?? 0, subscribed: sums?.subscribed ?? 0 }
}
