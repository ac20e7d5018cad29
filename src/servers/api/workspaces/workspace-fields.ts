/** The fields of workspaces in requests and answers. */
import { z } from 'zod'
import { httpsUrl, name, timestamp, uuid } from '../http/input/values.js'

const iconUrl = httpsUrl.nullable().optional().meta({ description: 'An https URL of a picture; null: none.' })
export const workspaceRequest = z
  .strictObject({ name, icon_url: iconUrl })
  .meta({ id: 'WorkspaceRequest', example: { name: 'Shop' } })
export const workspaceChange = z
  .strictObject({ name: name.optional(), icon_url: iconUrl })
  .meta({ id: 'WorkspaceChange', example: { name: 'Shop in Europe' } })

const fields = {
  id: z.string().meta({ example: 'ws_01a1ff35-3880-7ef5-bbba-0d7e1de2529c' }),
  name: z.string().meta({ example: 'Shop' }),
  slug: z.string().meta({ description: 'The name in lower case, for URLs; unique.', example: 'shop' }),
  icon_url: z.string().nullable(),
  owner_id: uuid,
  role: z.enum(['owner', 'admin', 'member']).meta({ description: 'Your role in the workspace.' }),
  created_at: timestamp,
}
export const workspace = z.strictObject(fields).meta({ id: 'Workspace' })
export const detailedWorkspace = z.strictObject({ ...fields, member_count: z.int() }).meta({ id: 'DetailedWorkspace' })
