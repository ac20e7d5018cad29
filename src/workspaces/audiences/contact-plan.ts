/**
 * Plans the import of some lines of a file, from the present contacts of the audience. The plan has contacts to
 * insert, and changes that miss if the contact has changed. It lets others have their turn after some kilobytes of
 * metadata, because a few hundred contacts may have megabytes of it.
 */
import type { RefusedLine, RefusedSummary } from '../../base/platform/csv/refused-lines.js'
import { prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { Write } from '../../base/storage/db/write.js'
import { parseJson, toJson } from '../../base/storage/tables/columns.js'
import type { ContactImportReport, HintSummary } from '../../base/storage/tables/content-tables.js'
import { type ContactLine, METADATA_TOO_LARGE } from './contact-columns.js'
import {
  type Contact,
  type ContactFields,
  findContactsInAudience,
  insertContact,
  MAX_METADATA,
  newContactOf,
} from './contacts.js'
import type { EarlierLines } from './earlier-lines.js'

export interface PlannedLine {
  /** The number of the line in the file. */
  readonly lineNumber: number
  readonly line: ContactLine
}

type PlanCounts = Omit<ContactImportReport, keyof RefusedSummary | keyof HintSummary | 'left_out' | 'encoding'>

export interface PlanContext {
  readonly read: Read
  readonly workspaceId: string
  readonly audienceId: string
  readonly resubscribe: boolean
  readonly now: number
}

type ContactValues = Pick<Contact, 'first_name' | 'last_name' | 'subscribed' | 'metadata'>

/** A contact as we read it, and as it will be. */
interface PlannedContact {
  /** Null means that the contact is new to the audience. */
  readonly before: Contact | null
  after: Contact
}

/** Contacts that one read fetches. With metadata they may have most of a megabyte. */
const READ_CONTACTS = 50
/** Characters of stored metadata that are parsed and compared before others have their turn. */
const STEP_METADATA = 65_536

export class ContactPlan {
  readonly refusedLines: RefusedLine[] = []
  private readonly context: PlanContext
  /** The planned contacts by address. */
  private readonly plannedContacts = new Map<string, PlannedContact>()
  private added = 0
  private updated = 0
  private unchanged = 0
  private stillUnsubscribed = 0
  /** Characters of metadata since others had their turn. */
  private walked = 0

  /** `earlier` has lines of which the database does not have the changes. */
  constructor(
    about: PlanContext,
    private readonly earlier: EarlierLines | null = null,
  ) {
    this.context = about
  }

  get counts(): PlanCounts {
    return {
      added: this.added,
      updated: this.updated,
      unchanged: this.unchanged,
      still_unsubscribed: this.stillUnsubscribed,
    }
  }

  /** Adds up to a few hundred lines. */
  async addLines(lines: readonly PlannedLine[]): Promise<void> {
    for (let at = 0; at < lines.length; at += READ_CONTACTS) await this.addPortion(lines.slice(at, at + READ_CONTACTS))
  }

  private async addPortion(lines: readonly PlannedLine[]): Promise<void> {
    await this.readContacts(lines)
    for (const { lineNumber, line } of lines) {
      const planned = this.addLine(lineNumber, line)
      if (line.metadata === undefined) continue
      await this.spend(planned?.after.metadata.length ?? MAX_METADATA)
    }
  }

  /** Lets others have their turn after some characters. */
  private async spend(characters: number): Promise<void> {
    this.walked += characters
    if (this.walked < STEP_METADATA) return
    this.walked = 0
    await waitForStep()
  }

  /** Returns null if the line is refused. */
  private addLine(at: number, line: ContactLine): PlannedContact | null {
    const key = line.email.toLowerCase()
    const planned = this.plannedContacts.get(key) ?? null
    const from = planned?.after ?? newContactOf({ ...this.context, email: line.email })
    const change = this.buildChange(from, line, planned === null)
    if (change === null) {
      this.refusedLines.push({ line: at, field: 'metadata', reason: METADATA_TOO_LARGE, value: null })
      return null
    }
    const after = { ...from, ...change }
    this.earlier?.add(line, after.subscribed)
    if (planned === null) {
      const added = { before: null, after }
      this.plannedContacts.set(key, added)
      this.added += 1
      return added
    }
    if (isDifferent(from, after)) {
      planned.after = { ...after, updated_at: this.context.now }
      this.updated += 1
    } else this.unchanged += 1
    return planned
  }

  toWrites(): readonly Write[] {
    return [...this.plannedContacts.values()].flatMap(({ before, after }) => {
      if (before === null) return [insertContact(after)]
      return isDifferent(before, after) ? [updateIfUnchanged(toConditionalChange(before, after))] : []
    })
  }

  /** Reads the contacts of the lines as earlier lines have left them. */
  private async readContacts(lines: readonly PlannedLine[]): Promise<void> {
    const { read, workspaceId, audienceId } = this.context
    const emails = new Map(lines.map(({ line: { email } }) => [email.toLowerCase(), email]))
    const keys = [...emails.keys()].filter((key) => !this.plannedContacts.has(key))
    for (const before of await findContactsInAudience(read, workspaceId, audienceId, keys)) {
      const isPlanned = this.earlier?.has(before.email_key) === true
      this.plannedContacts.set(before.email_key, { before, after: this.earlier?.applyTo(before) ?? before })
      if (isPlanned) await this.spend(before.metadata.length)
    }
    for (const [key, email] of emails) {
      if (this.earlier?.has(key) !== true || this.plannedContacts.has(key)) continue
      this.plannedContacts.set(key, {
        before: null,
        after: this.earlier.applyTo(newContactOf({ ...this.context, email })),
      })
    }
  }

  /** Null means that the metadata would be too large. */
  private buildChange(from: Contact, line: ContactLine, isNew: boolean): Partial<ContactFields> | null {
    const { first_name = from.first_name, last_name = from.last_name, metadata } = line
    const names = { first_name, last_name, subscribed: this.decideSubscribed(from, line, isNew) }
    if (metadata === undefined) return names
    const merged = toJson({ ...parseJson(from.metadata), ...metadata })
    return Buffer.byteLength(merged) > MAX_METADATA ? null : { ...names, metadata: merged }
  }

  private decideSubscribed(from: Contact, { subscribed, withoutConsent }: ContactLine, isNew: boolean): 0 | 1 {
    if (subscribed === undefined) return isNew && withoutConsent === true ? 0 : from.subscribed
    const again = subscribed && !isNew && from.subscribed === 0
    if (!again || this.context.resubscribe) return subscribed ? 1 : 0
    this.stillUnsubscribed += 1
    return 0
  }
}

const valueFields = [
  'first_name',
  'last_name',
  'subscribed',
  'metadata',
] as const satisfies readonly (keyof ContactValues)[]

function isDifferent(one: Contact, other: Contact): boolean {
  return valueFields.some((field) => one[field] !== other[field])
}

interface ConditionalChange extends ContactValues {
  id: string
  workspace_id: string
  updated_at: number
  seen_first_name: string | null
  seen_last_name: string | null
  seen_subscribed: 0 | 1
  seen_metadata: Contact['metadata']
  audience_id: string | null
}

/** Misses when the contact has changed since it was read. */
const updateIfUnchanged = prepareWrite<ConditionalChange>(
  ({ db, slot }) =>
    db
      .updateTable('contacts')
      .set({
        first_name: slot('first_name'),
        last_name: slot('last_name'),
        subscribed: slot('subscribed'),
        metadata: slot('metadata'),
        updated_at: slot('updated_at'),
      })
      .where('workspace_id', '=', slot('workspace_id'))
      .where('id', '=', slot('id'))
      .where('audience_id', 'is not distinct from', slot('audience_id'))
      .where('first_name', 'is not distinct from', slot('seen_first_name'))
      .where('last_name', 'is not distinct from', slot('seen_last_name'))
      .where('subscribed', '=', slot('seen_subscribed'))
      .where('metadata', '=', slot('seen_metadata')),
  1,
)

function toConditionalChange(before: Contact, after: Contact): ConditionalChange {
  return {
    ...after,
    seen_first_name: before.first_name,
    seen_last_name: before.last_name,
    seen_subscribed: before.subscribed,
    seen_metadata: before.metadata,
  }
}
