/**
 * Plans the import of some lines of a file, from the present contacts of the audience. The plan has contacts to
 * insert, and changes that miss if the contact has changed.
 */
import type { RefusedLine, RefusedSummary } from '../../base/platform/csv/refused-lines.js'
import { prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import { parseJson, toJson } from '../../base/storage/tables/columns.js'
import type { ContactImportReport, HintSummary } from '../../base/storage/tables/content-tables.js'
import { type ContactLine, isMetadataTooLarge, METADATA_TOO_LARGE } from './contact-columns.js'
import {
  type Contact,
  type ContactFields,
  findContactsInAudience,
  insertContact,
  type Metadata,
  newContactOf,
} from './contacts.js'

export interface PlannedLine {
  /** The number of the line in the file. */
  readonly lineNumber: number
  readonly line: ContactLine
}

type PlanCounts = Omit<ContactImportReport, keyof RefusedSummary | keyof HintSummary | 'left_out'>

interface PlanContext {
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

export class ContactPlan {
  readonly refusedLines: RefusedLine[] = []
  private readonly context: PlanContext
  /** The planned contacts by address. */
  private readonly plannedContacts = new Map<string, PlannedContact>()
  private added = 0
  private updated = 0
  private unchanged = 0
  private stillUnsubscribed = 0

  constructor(about: PlanContext) {
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
    const keys = new Set(lines.map(({ line: { email } }) => email.toLowerCase()))
    await this.readExisting([...keys].filter((key) => !this.plannedContacts.has(key)))
    for (const { lineNumber, line } of lines) this.addLine(lineNumber, line)
  }

  private addLine(at: number, line: ContactLine): void {
    const key = line.email.toLowerCase()
    const planned = this.plannedContacts.get(key) ?? null
    const from = planned?.after ?? newContactOf({ ...this.context, email: line.email })
    const change = this.buildChange(from, line, planned === null)
    if (change === null) {
      this.refusedLines.push({ line: at, field: 'metadata', reason: METADATA_TOO_LARGE, value: null })
      return
    }
    const after = { ...from, ...change }
    if (planned === null) {
      this.plannedContacts.set(key, { before: null, after })
      this.added += 1
    } else if (isDifferent(from, after)) {
      planned.after = { ...after, updated_at: this.context.now }
      this.updated += 1
    } else this.unchanged += 1
  }

  toWrites(): readonly Write[] {
    return [...this.plannedContacts.values()].flatMap(({ before, after }) => {
      if (before === null) return [insertContact(after)]
      return isDifferent(before, after) ? [updateIfUnchanged(toConditionalChange(before, after))] : []
    })
  }

  private async readExisting(keys: readonly string[]): Promise<void> {
    const { read, workspaceId, audienceId } = this.context
    for (const before of await findContactsInAudience(read, workspaceId, audienceId, keys)) {
      this.plannedContacts.set(before.email_key, { before, after: before })
    }
  }

  /** Null means that the metadata would be too large. */
  private buildChange(from: Contact, line: ContactLine, isNew: boolean): Partial<ContactFields> | null {
    const { first_name = from.first_name, last_name = from.last_name, metadata } = line
    const names = { first_name, last_name, subscribed: this.decideSubscribed(from, line, isNew) }
    if (metadata === undefined) return names
    const merged: Metadata = { ...parseJson(from.metadata), ...metadata }
    return isMetadataTooLarge(merged) ? null : { ...names, metadata: toJson(merged) }
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
