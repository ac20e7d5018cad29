/**
 * Remembers the results of a check whose outcome follows from its input and from DNS alone. A result is used again only
 * while each answer that it was made from is the one at hand, so it never outlives a record, and never differs from what
 * the check would find.
 *
 * A result is not remembered if an answer may not be kept, came too late or was refused, or if `isLasting` says that it
 * may follow from something else, such as the time that the check has taken.
 */
import type { DNSResolver } from 'mailauth'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { MessageQueries } from './dns-queries.js'
import { type FoundAnswer, octetsOf, toAnswerKey } from './kept-answers.js'

/**
 * Approximate octets of all results of one check, with the answers that they keep in memory. That is over a thousand
 * results.
 */
const MAX_OCTETS = 4_194_304
/** Characters; a longer one is not remembered. */
const MAX_INPUT = 1000
/** Answers that one result may have been made from. */
const MAX_ANSWERS = 30

interface Remembered<T> {
  readonly value: T
  readonly basis: readonly (readonly [key: string, answer: FoundAnswer])[]
}

export class AnswerMemo<T> {
  private readonly results = createLruCache<Remembered<T>>({ max: MAX_OCTETS, weightOf: weigh })

  constructor(private readonly isLasting: (value: T) => boolean) {}

  /** `input` is all that the check reads, except DNS. */
  async run(
    input: string,
    queries: MessageQueries,
    resolver: DNSResolver,
    check: (resolver: DNSResolver) => Promise<T>,
  ): Promise<T> {
    const known = this.results.get(input)
    if (known?.basis.every(([key, answer]) => queries.findKept(key) === answer) === true) return known.value
    const asked = new Set<string>()
    const value = await check((name, type) => {
      asked.add(toAnswerKey(name, type))
      return resolver(name, type)
    })
    if (input.length > MAX_INPUT || asked.size > MAX_ANSWERS || !this.isLasting(value)) return value
    const basis = [...asked].flatMap((key) => {
      const answer = queries.findUsed(key)
      return answer === undefined ? [] : [[key, answer] as const]
    })
    if (basis.length === asked.size) this.results.set(input, { value, basis })
    return value
  }
}

function weigh({ basis }: Remembered<unknown>): number {
  return basis.reduce((sum, [key, answer]) => sum + key.length + octetsOf(answer), 2 * MAX_INPUT)
}
