/**
 * Reads the nodes of a document that a client sends. It counts nodes, blocks and characters while it reads, and stops at
 * the first fault, so it reads no more nodes than a mail may have. Keys and values that it does not know end it too. What
 * precedes it, the parsing of the JSON, has only the limit of the request's body.
 */
import { Refusal } from '../../../base/mail/refusal.js'
import { isRecord } from '../../../base/platform/records.js'
import { MAX_BLOCKS, MAX_CHARACTERS, MAX_NODES } from './mail-blocks.js'

/** Characters of a value that a refusal shows. */
const MAX_SHOWN = 80

export type JsonObject = Readonly<Record<string, unknown>>

export class BlockReader {
  private nodes = 0
  private blocks = 0
  private characters = 0

  fail(path: string, rule: string, value: unknown = null): never {
    const shown = typeof value === 'string' ? value.slice(0, MAX_SHOWN) : typeof value === 'number' ? value : null
    const errors = [{ field: path, message: rule, value: shown }]
    throw new Refusal('invalid-parameter', `${path}: ${rule}`, { field: path, value: shown, errors })
  }

  /** Reads an object that has no other keys than these. */
  readObject(path: string, value: unknown, keys: readonly string[]): JsonObject {
    if (!isRecord(value)) return this.fail(path, 'must be an object')
    for (const key in value) {
      if (!keys.includes(key))
        this.fail(path, `has the unknown key "${key.slice(0, MAX_SHOWN)}", allowed: ${keys.join(', ')}`)
    }
    return value
  }

  /** Reads an array with at least `min` items. Each counts as a node. */
  readItems<Item>(path: string, value: unknown, min: number, readItem: (path: string, item: unknown) => Item): Item[] {
    if (!Array.isArray(value)) return min === 0 && value === undefined ? [] : this.fail(path, 'must be a list')
    if (value.length < min) this.fail(path, `must have ${min} or more items`)
    this.nodes += value.length
    if (this.nodes > MAX_NODES) this.fail('blocks', `a mail may have at most ${MAX_NODES} nodes`)
    return value.map((item, at) => readItem(`${path}[${at}]`, item))
  }

  countBlock(): void {
    this.blocks += 1
    if (this.blocks > MAX_BLOCKS) this.fail('blocks', `a mail may have at most ${MAX_BLOCKS} blocks and items of lists`)
  }

  readType(path: string, value: unknown, allowed: readonly string[]): string {
    const type = isRecord(value) ? value['type'] : undefined
    if (typeof type === 'string' && allowed.includes(type)) return type
    return this.fail(isRecord(value) ? `${path}.type` : path, `allowed here: ${allowed.join(', ')}`, type)
  }

  readText(path: string, value: unknown, max: number): string {
    if (typeof value !== 'string') return this.fail(path, 'must be a text')
    if (value.length > max) this.fail(path, `has ${value.length} characters, allowed: ${max}`)
    this.characters += value.length
    if (this.characters <= MAX_CHARACTERS) return value
    return this.fail('blocks', `the texts of a mail may have at most ${MAX_CHARACTERS} characters together`)
  }

  /** Reads one of a few values. An absent one becomes `otherwise`. */
  readChoice<Value extends string | number>(
    path: string,
    value: unknown,
    choices: readonly Value[],
    otherwise?: Value,
  ): Value {
    const found = choices.find((choice) => choice === value)
    if (found !== undefined) return found
    if (value === undefined && otherwise !== undefined) return otherwise
    return this.fail(path, `allowed: ${choices.join(', ')}`, value)
  }

  readNumber(path: string, value: unknown, min: number, max: number): number {
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
    return this.fail(path, `must be a whole number of pixels from ${min} to ${max}`, value)
  }
}
