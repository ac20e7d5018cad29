/** The fields of workspaces in requests and answers. */
import { z } from 'zod'
import { languages } from '../../../base/mail/language.js'
import { httpsUrl, name, timestamp, uuid } from '../http/input/values.js'

const iconUrl = httpsUrl.nullable().optional().meta({ description: 'An https URL of a picture; null: none.' })
export const workspaceRequest = z
  .strictObject({ name, icon_url: iconUrl })
  .meta({ id: 'WorkspaceRequest', example: { name: 'Shop' } })
const language = z.enum(languages, `allowed: ${languages.join(', ')}`).meta({
  description: 'That of the footer of broadcasts and of the page on which recipients unsubscribe.',
  example: 'en',
})

const MAX_POSTAL_ADDRESS = 500
const MAX_LINES = 10
const addressRule = `allowed: up to ${MAX_POSTAL_ADDRESS} characters in at most ${MAX_LINES} lines, no control characters`

/** Blank text is none. Lines end with a line feed. */
const postalAddress = z
  .string(addressRule)
  .max(MAX_POSTAL_ADDRESS, addressRule)
  .transform((text) => text.replaceAll('\r\n', '\n').trim())
  .refine((text) => !/[^\P{Cc}\n]|\p{Cs}/u.test(text) && text.split('\n').length <= MAX_LINES, addressRule)
  .transform((text) => (text === '' ? null : text))
  .nullable()

export const workspaceChange = z
  .strictObject({
    name: name.optional(),
    icon_url: iconUrl,
    language: language.optional(),
    postal_address: postalAddress.optional().meta({
      description: 'The last lines of the footer of broadcasts; null: none.',
      example: 'Shop Ltd, 1 High Street, London',
    }),
  })
  .meta({ id: 'WorkspaceChange', example: { name: 'Shop in Europe' } })

const fields = {
  id: z.string().meta({ example: 'ws_01a1ff35-3880-7ef5-bbba-0d7e1de2529c' }),
  name: z.string().meta({ example: 'Shop' }),
  slug: z.string().meta({ description: 'The name in lower case, for URLs; unique.', example: 'shop' }),
  icon_url: z.string().nullable(),
  language,
  postal_address: z.string().nullable().meta({ example: null }),
  owner_id: uuid,
  role: z.enum(['owner', 'admin', 'member']).meta({ description: 'Your role in the workspace.' }),
  created_at: timestamp,
}
export const workspace = z.strictObject(fields).meta({ id: 'Workspace' })
export const detailedWorkspace = z.strictObject({ ...fields, member_count: z.int() }).meta({ id: 'DetailedWorkspace' })
