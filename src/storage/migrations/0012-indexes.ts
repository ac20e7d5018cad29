/** Indexes with the complete order of lists of a workspace, so that no page has to sort rows outside it. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  'drop index api_keys_of_workspace',
  'create index api_keys_of_workspace on api_keys (workspace_id, created_at, id)',
  'create index domains_of_workspace on domains (workspace_id, created_at, id)',
  'create index workspaces_age on workspaces (created_at, id)',
])
