/** Contacts in requests: our fields, and the names by which clients of Resend say the same. */
import { z } from 'zod'
import type { Address } from '../../../base/mail/address.js'
import { notBoth } from '../http/input/field-rules.js'
import { metadataObject } from '../http/input/metadata.js'
import { address } from '../http/input/values.js'
import { audienceId, optionalFields, subscribed } from './contact-fields.js'

const common = {
  ...optionalFields,
  subscribed: subscribed.optional(),
  unsubscribed: z
    .boolean('allowed: true or false')
    .optional()
    .meta({ description: 'The contrary of `subscribed`, in its place.' }),
  properties: metadataObject('Another name of `metadata`.').optional(),
}

const rules = [
  notBoth('subscribed', 'unsubscribed', 'says what subscribed says: give one'),
  notBoth('metadata', 'properties'),
] as const

export const contactRequest = z
  .strictObject({
    email: address,
    ...common,
    segments: z
      .array(z.strictObject({ id: audienceId }))
      .max(1, 'allowed: one, because a contact is in one audience: add the address once for each')
      .optional()
      .meta({ description: 'One audience, in place of `audience_id`.' }),
  })
  .check(...rules, notBoth('audience_id', 'segments', 'names an audience as audience_id does: give one'))
  .meta({ id: 'ContactRequest', example: { email: 'bob@example.com', first_name: 'Bob', metadata: { plan: 'pro' } } })

export const contactChange = z
  .strictObject({ email: address.optional(), ...common })
  .check(...rules)
  .meta({ id: 'ContactChange', example: { last_name: 'Lee', subscribed: false } })

type Change = z.output<typeof contactChange>
/** A change by our names alone. */
type OwnChange = Omit<Change, 'unsubscribed' | 'properties'>

export function toContactChange({ unsubscribed, properties, ...change }: Change): OwnChange {
  const { subscribed = unsubscribed === undefined ? undefined : !unsubscribed, metadata = properties } = change
  return { ...change, subscribed, metadata }
}

export function toNewContact({
  segments = [],
  ...given
}: z.output<typeof contactRequest>): OwnChange & { readonly email: Address } {
  const { email } = given
  const { subscribed = true, ...contact } = toContactChange(given)
  return { ...contact, email, subscribed, audience_id: contact.audience_id ?? segments[0]?.id }
}
