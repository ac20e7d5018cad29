/**
 * What some lines of a file come to, on top of what the audience holds now: contacts to be
 * added, and changes that hold only while the contact is as it was seen.
 */

import type { RefusedLine } from '../platform/csv/refused-lines.js'
import { uuidv7 } from '../platform/ids.js'
import { prepareWrite, type Read } from '../storage/prepared.js'
import type { Write } from '../storage/writer/write.js'
import { type ContactLine, isTooLarge, TOO_LARGE } from './contact-columns.js'
import { type Contact, type ContactFields, contactIn, insertContact, type Metadata } from './contacts.js'

export interface PlannedLine {
  /** In the file. */
  readonly at: number
  readonly line: ContactLine
}

export interface PlanCounts {
  readonly added: number
  readonly updated: number
  /** They say what is there already. */
  readonly unchanged: number
  /** Of these lines, those that would subscribe somebody again who has unsubscribed. */
  readonly still_unsubscribed: number
}

interface About {
  readonly read: Read
  readonly workspaceId: string
  readonly audienceId: string
  readonly resubscribe: boolean
  readonly now: number
}

type Kept = Pick<Contact, 'first_name' | 'last_name' | 'subscribed' | 'metadata'>

/** A contact as it was seen, and as it is to be. */
interface Place {
  /** Null: the audience does not have it. */
  readonly before: Contact | null
  after: Contact
}

export class ContactPlan {
  readonly refused: RefusedLine[] = []
  private readonly about: About
  /** By address. */
  private readonly places = new Map<string, Place>()
  private added = 0
  private updated = 0
  private unchanged = 0
  private stillUnsubscribed = 0

  constructor(about: About) {
    this.about = about
  }

  get counts(): PlanCounts {
    return {
      added: this.added,
      updated: this.updated,
      unchanged: this.unchanged,
      still_unsubscribed: this.stillUnsubscribed,
    }
  }

  take(at: number, line: ContactLine): void {
    const key = line.email.toLowerCase()
    const place = this.places.get(key) ?? this.seen(key)
    const from = place?.after ?? this.fresh(line, key)
    const change = this.changeOf(from, line, place === null)
    if (change === null) {
      this.refused.push({ line: at, field: 'metadata', reason: TOO_LARGE, value: null })
      return
    }
    const after = { ...from, ...change }
    if (place === null) {
      this.places.set(key, { before: null, after })
      this.added += 1
    } else if (differs(from, after)) {
      place.after = { ...after, updated_at: this.about.now }
      this.updated += 1
    } else this.unchanged += 1
  }

  writes(): readonly Write[] {
    return [...this.places.values()].flatMap(({ before, after }) => {
      if (before === null) return [insertContact(after)]
      return differs(before, after) ? [changeSeen(valuesOf(before, after))] : []
    })
  }

  private seen(key: string): Place | null {
    const { read, workspaceId, audienceId } = this.about
    const before = contactIn(read, workspaceId, audienceId, key)
    if (before === undefined) return null
    const place = { before, after: before }
    this.places.set(key, place)
    return place
  }

  private fresh({ email }: ContactLine, key: string): Contact {
    const { workspaceId, audienceId, now } = this.about
    return {
      id: uuidv7(now),
      workspace_id: workspaceId,
      audience_id: audienceId,
      email,
      email_key: key,
      first_name: null,
      last_name: null,
      subscribed: 1,
      metadata: '{}',
      created_at: now,
      updated_at: now,
    }
  }

  /** Null: its metadata would be too large. */
  private changeOf(from: Contact, line: ContactLine, isNew: boolean): Partial<ContactFields> | null {
    const { first_name = from.first_name, last_name = from.last_name, metadata } = line
    const names = { first_name, last_name, subscribed: this.subscribed(from, line, isNew) }
    if (metadata === undefined) return names
    const merged: Metadata = { ...(JSON.parse(from.metadata) as Metadata), ...metadata }
    return isTooLarge(merged) ? null : { ...names, metadata: JSON.stringify(merged) }
  }

  private subscribed(from: Contact, { subscribed }: ContactLine, isNew: boolean): 0 | 1 {
    if (subscribed === undefined) return from.subscribed
    const again = subscribed && !isNew && from.subscribed === 0
    if (!again || this.about.resubscribe) return subscribed ? 1 : 0
    this.stillUnsubscribed += 1
    return 0
  }
}

const kept = ['first_name', 'last_name', 'subscribed', 'metadata'] as const satisfies readonly (keyof Kept)[]

function differs(one: Contact, other: Contact): boolean {
  return kept.some((field) => one[field] !== other[field])
}

interface Change extends Kept {
  id: string
  workspace_id: string
  updated_at: number
  seen_first_name: string | null
  seen_last_name: string | null
  seen_subscribed: 0 | 1
  seen_metadata: string
  audience_id: string | null
}

/** Misses where it is not any more as it was seen. */
const changeSeen = prepareWrite<Change>(
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
      .where('audience_id', 'is', slot('audience_id'))
      .where('first_name', 'is', slot('seen_first_name'))
      .where('last_name', 'is', slot('seen_last_name'))
      .where('subscribed', '=', slot('seen_subscribed'))
      .where('metadata', '=', slot('seen_metadata')),
  1,
)

function valuesOf(before: Contact, after: Contact): Change {
  return {
    ...after,
    seen_first_name: before.first_name,
    seen_last_name: before.last_name,
    seen_subscribed: before.subscribed,
    seen_metadata: before.metadata,
  }
}
