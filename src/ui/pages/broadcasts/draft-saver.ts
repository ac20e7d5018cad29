/**
 * Saves a draft by itself, a moment after the last change, and when the user asks for it. One save follows the other.
 * A draft that was changed elsewhere in the meantime is not overwritten. After a lost answer, the next save looks first
 * whether the draft was stored.
 */
import { ApiError, asApiError, type FieldError } from '../../api/api-error.ts'
import { api, unwrap } from '../../api/client.ts'
import type { LeaveGuard } from '../../components/leave-guard.ts'
import type { Broadcast } from './broadcast.ts'
import { type DraftBody, findStored, isUnanswered } from './lost-answer.ts'

export type SaveState =
  | { readonly kind: 'unchanged' | 'waiting' | 'conflict' }
  | { readonly kind: 'incomplete'; readonly gaps: readonly FieldError[] }
  | { readonly kind: 'saved'; readonly at: string }
  | { readonly kind: 'failed'; readonly message: string }

/** A draft as the form has it now. */
export interface WrittenDraft {
  readonly body: DraftBody
  /** The fields that are empty. The server stores no draft without them. */
  readonly gaps: readonly FieldError[]
}

interface SaverParts {
  readonly read: () => WrittenDraft
  readonly guard: LeaveGuard
  readonly onState: (state: SaveState) => void
  readonly onSaved: (draft: Broadcast) => void
}

/** Milliseconds after the last change. */
const PAUSE = 1_200

export class DraftSaver {
  private timer: ReturnType<typeof setTimeout> | null = null
  private running: Promise<unknown> = Promise.resolve()
  /** True while the user has to decide between two versions. Nothing is saved by itself then. */
  private isOvertaken = false
  /** What was sent and may be stored, although no answer came. */
  private unanswered: DraftBody | null = null

  constructor(
    private known: Pick<Broadcast, 'id' | 'updated_at'> | null,
    private readonly parts: SaverParts,
  ) {}

  /** Says that the user has changed something. */
  touch(): void {
    this.parts.guard.set()
    if (this.isOvertaken) return
    this.parts.onState({ kind: 'waiting' })
    this.stop()
    this.timer = setTimeout(() => void this.saveByItself(), PAUSE)
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
  }

  /** Rejects with an ApiError that names the fields. `overwrites`: a change that was made elsewhere is lost. */
  async save(overwrites = false): Promise<Broadcast> {
    this.stop()
    const { gaps } = this.parts.read()
    const saving = this.running.then(() => this.send(overwrites))
    this.running = saving.catch(() => undefined)
    return saving.catch((error: unknown) => {
      throw nameGaps(asApiError(error), gaps)
    })
  }

  private async saveByItself(): Promise<void> {
    const { gaps } = this.parts.read()
    if (gaps.length > 0) {
      this.parts.onState({ kind: 'incomplete', gaps })
      return
    }
    await this.save().catch(() => undefined)
  }

  private async send(overwrites: boolean): Promise<Broadcast> {
    const { read, guard, onState, onSaved } = this.parts
    const begun = guard.begin()
    try {
      await this.recover()
      const draft = await this.storeOnce(read().body, overwrites)
      this.known = draft
      this.isOvertaken = false
      guard.clear(begun)
      if (guard.begin() === begun) onState({ kind: 'saved', at: draft.updated_at })
      onSaved(draft)
      return draft
    } catch (thrown) {
      const error = asApiError(thrown)
      this.isOvertaken = tellsOfOther(error)
      onState(this.isOvertaken ? { kind: 'conflict' } : describeFailure(error, read().gaps))
      throw error
    }
  }

  private async recover(): Promise<void> {
    if (this.unanswered === null) return
    this.known = (await findStored(this.known?.id ?? null, this.unanswered)) ?? this.known
    this.unanswered = null
  }

  private async storeOnce(body: DraftBody, overwrites: boolean): Promise<Broadcast> {
    try {
      return await this.store(body, overwrites)
    } catch (error) {
      if (isUnanswered(error)) this.unanswered = body
      throw error
    }
  }

  private store(body: DraftBody, overwrites: boolean): Promise<Broadcast> {
    if (this.known === null) return unwrap(api.POST('/v1/broadcasts', { body: dropEmpty(body) }))
    const { id, updated_at: known } = this.known
    // The server takes an empty list as absent.
    const reply_to = body.reply_to.length === 0 ? null : body.reply_to
    const expected = overwrites ? {} : { if_updated_at: known }
    return unwrap(
      api.PATCH('/v1/broadcasts/{id}', { params: { path: { id } }, body: { ...body, reply_to, ...expected } }),
    )
  }
}

/** A draft that lacks something is not finished, which is no failure. */
function describeFailure(error: ApiError, gaps: readonly FieldError[]): SaveState {
  return gaps.length > 0 && error.fields.length > 0
    ? { kind: 'incomplete', gaps }
    : { kind: 'failed', message: error.message }
}

/** Names the empty fields as the form calls them, next to the others that the server has refused. */
function nameGaps(error: ApiError, gaps: readonly FieldError[]): ApiError {
  if (error.fields.length === 0 || gaps.length === 0) return error
  const { message, status, code, details, fields } = error
  const isOther = ({ field }: FieldError): boolean => field !== 'text' && !gaps.some((gap) => gap.field === field)
  return new ApiError(message, { status, code, details, fields: [...gaps, ...fields.filter(isOther)] })
}

/** A new draft has no fields without a value. */
function dropEmpty(body: DraftBody): DraftBody {
  const { template_id, ...words } = body
  if (template_id === undefined || template_id === null) return words
  const { subject: _subject, html: _html, text: _text, blocks: _blocks, ...common } = words
  return { ...common, template_id }
}

function tellsOfOther(error: ApiError): boolean {
  return error.code === 'conflict' && error.details['field'] === 'if_updated_at'
}
