/**
 * Finds contacts by any part of their address or name, and by their state: newest first, in pages.
 *
 * A part is in no index, and neither is a subscription or a suppression among many contacts. So contacts are compared row
 * by row, in steps (`base/storage/db/stepped-walk.ts`), and a request compares at most MAX_COMPARED of them. A page may then
 * have fewer contacts than were requested, and says where the next page continues. The unsubscribed have indexes of their
 * own, because they are few among many.
 *
 * Texts are compared without regard to the case of ASCII letters.
 */
import { type RawBuilder, sql } from 'kysely'
import { containsIgnoringCase, textOf } from '../../base/storage/db/dialect.js'
import { prepareLongRead, type Read, type StatementBuilder } from '../../base/storage/db/prepared.js'
import { THREAD_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { ContactFilter } from './contact-list.js'
import type { Contact } from './contacts.js'

/** `suppressed` means that the address is on the suppression list. */
export const contactStates = ['subscribed', 'unsubscribed', 'suppressed'] as const
type ContactState = (typeof contactStates)[number]

/** Null fields match any contact. */
export interface ContactWalk extends ContactFilter {
  readonly part: string | null
  readonly state: ContactState | null
  /** Contacts whose address begins with this text are left out. Null leaves out none. */
  readonly without: string | null
}

interface WalkedPage {
  readonly contacts: readonly Contact[]
  /** The id of the contact after which the next page begins. Null if there is nothing more. */
  readonly next: string | null
}

/** The most rows that one request compares. */
const MAX_COMPARED = 25_000

export async function walkContacts(
  read: Read,
  walk: ContactWalk,
  { before, limit }: { readonly before: string; readonly limit: number },
): Promise<WalkedPage> {
  const contacts: Contact[] = []
  let place = before
  for (let compared = 0; compared < MAX_COMPARED; compared += THREAD_STEP) {
    if (compared > 0) await waitForStep()
    const { found, end } = await readStep(read, walk, place, limit + 1 - contacts.length)
    contacts.push(...found)
    const last = contacts[limit - 1]
    if (contacts.length > limit && last !== undefined) return { contacts: contacts.slice(0, limit), next: last.id }
    if (end === null) return { contacts, next: null }
    place = end
  }
  return { contacts, next: place }
}

interface Step {
  readonly found: readonly Contact[]
  /** The id of the last row that was compared. Null if it was the last of all. */
  readonly end: string | null
}

async function readStep(read: Read, walk: ContactWalk, before: string, limit: number): Promise<Step> {
  const { workspaceId, audienceId, part, without } = walk
  const reads = (audienceId === null ? inWorkspace : inAudience)[walk.state ?? 'any']
  const skipping = { workspaceId, audienceId: audienceId ?? '', before }
  const end = (await reads.end(read, skipping))[0]?.id ?? null
  return { found: await reads.rows(read, { ...skipping, end: end ?? '', part, without, limit }), end }
}

interface SkipValues {
  readonly workspaceId: string
  readonly audienceId: string
  readonly before: string
}

interface CompareValues extends SkipValues {
  readonly end: string
  readonly part: string | null
  readonly without: string | null
  readonly limit: number
}

type Kind = ContactState | 'any'

function prepareSteps(scope: 'workspace' | 'audience', kind: Kind) {
  const walked = <Values extends SkipValues>({ db, slot }: StatementBuilder<Values>) =>
    db
      .selectFrom('contacts')
      .where('workspace_id', '=', slot('workspaceId'))
      .$if(scope === 'audience', (query) => query.where('audience_id', '=', slot('audienceId')))
      .$if(kind === 'unsubscribed', (query) => query.where(sql<boolean>`subscribed = 0`))
      .where('id', '<', slot('before'))
      .orderBy('id', 'desc')
  return {
    end: prepareLongRead<SkipValues>()((builder) =>
      walked(builder)
        .select('id')
        .limit(1)
        .offset(THREAD_STEP - 1),
    ),
    rows: prepareLongRead<CompareValues>()((builder) =>
      walked(builder)
        .selectAll()
        .where('id', '>=', builder.slot('end'))
        .where(hasPart(builder))
        .$if(kind === 'subscribed', (query) => query.where('subscribed', '=', 1))
        .$if(kind === 'suppressed', (query) => query.where(isSuppressed))
        .limit(builder.slot('limit')),
    ),
  }
}

const isSuppressed = sql<boolean>`exists (select 1 from suppressions
  where suppressions.workspace_id = contacts.workspace_id and suppressions.email = contacts.email_key)`

/** Names are compared together too, so that a part may be the end of the first name and the beginning of the last. */
function hasPart({ slot }: StatementBuilder<CompareValues>): RawBuilder<boolean> {
  const [part, without] = [textOf(slot('part')), textOf(slot('without'))]
  const inName = containsIgnoringCase(sql`coalesce(first_name, '') || ' ' || coalesce(last_name, '')`, part)
  return sql<boolean>`(${part} is null or ${containsIgnoringCase('email_key', part)} or ${inName})
    and (${without} is null or substr(email_key, 1, length(${without})) <> ${without})`
}

function prepareScope(scope: 'workspace' | 'audience') {
  return {
    any: prepareSteps(scope, 'any'),
    subscribed: prepareSteps(scope, 'subscribed'),
    unsubscribed: prepareSteps(scope, 'unsubscribed'),
    suppressed: prepareSteps(scope, 'suppressed'),
  } satisfies Record<Kind, unknown>
}

const inWorkspace = prepareScope('workspace')
const inAudience = prepareScope('audience')
