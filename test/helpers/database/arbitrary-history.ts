/** The steps of a history of emails (`email-history.ts`), and random ones. */
import fc from 'fast-check'

export type Step =
  | {
      readonly kind: 'send'
      readonly workspace: number
      readonly domain: number
      readonly tags: readonly number[]
      readonly recipients: number
      readonly form: 'now' | 'scheduled' | 'broadcast'
    }
  | { readonly kind: 'settle'; readonly email: number; readonly outcome: 'delivered' | 'sent' | 'bounced' | 'failed' }
  | { readonly kind: 'report'; readonly email: number; readonly news: 'refused' | 'delivered' | 'complained' }
  | { readonly kind: 'cancel'; readonly email: number }
  | { readonly kind: 'open'; readonly email: number; readonly machine: boolean }
  | { readonly kind: 'click'; readonly email: number; readonly link: number; readonly machine: boolean }
  /** One address follows all links, in one batch or in two. */
  | { readonly kind: 'sweep'; readonly email: number; readonly first: number }
  | { readonly kind: 'wait'; readonly minutes: number }
  | { readonly kind: 'remove'; readonly days: number; readonly linkDays: number }
  | { readonly kind: 'erase' }

const email = fc.nat(30)
const isMachine = fc.integer({ min: 0, max: 3 }).map((number) => number === 0)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      workspace: fc.nat(1),
      domain: fc.nat(2),
      tags: fc.array(fc.nat(3), { maxLength: 3 }),
      recipients: fc.integer({ min: 1, max: 3 }),
      form: fc.constantFrom('now', 'now', 'now', 'scheduled', 'broadcast'),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      email,
      outcome: fc.constantFrom('delivered', 'delivered', 'sent', 'bounced', 'failed'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      email,
      news: fc.constantFrom('refused', 'delivered', 'complained'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cancel' as const), email }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('open' as const), email, machine: isMachine }) },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('click' as const), email, link: fc.nat(4), machine: isMachine }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('sweep' as const), email, first: fc.nat(5) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('wait' as const), minutes: fc.nat(2_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), days: fc.nat(4), linkDays: fc.nat(4) }) },
)

/** Of one workspace in the end, if it has an erasure, and of two otherwise. */
export const arbitraryHistory: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.array(step, { minLength: 40, maxLength: 80 }),
    fc.array(fc.constant({ kind: 'erase' as const }), { maxLength: 1 }),
  )
  .map((parts) => parts.flat())
