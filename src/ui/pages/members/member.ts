/** A member and an invitation as the interface has them. */
import type { components } from '../../api/schema.d.ts'
import { workspace } from '../../api/session-state.ts'

export type Member = components['schemas']['Member']
export type Invitation = components['schemas']['Invitation']
type AssignableRole = Invitation['role']

/** The options of a ChoicesField. */
export const roleOptions = [
  { value: 'member', label: 'Member', hint: 'Sends and reads mail, writes contacts, templates and suppressions.' },
  { value: 'admin', label: 'Admin', hint: 'Also changes domains, keys, webhooks and members.' },
]

/** The role is member unless the text names the other role. */
export function readRole(text: string): AssignableRole {
  return text === 'admin' ? 'admin' : 'member'
}

export function nameMember({ user: { full_name: name, email } }: Member): string {
  return name === '' ? email : name
}

/** The workspace that the page shows. */
export function currentWorkspaceId(): string {
  return workspace.value?.id ?? ''
}
