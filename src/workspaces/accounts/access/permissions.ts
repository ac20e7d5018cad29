/**
 * The permissions of roles and scopes, as tables.
 *
 * A key may do what the role of its member allows and at least one of its scopes allows. The permission `own` covers
 * only the emails that this key has sent, by id.
 */
import { Refusal } from '../../../base/mail/refusal.js'
import type { Role, Scope } from '../../../base/storage/tables/account-tables.js'
import type { Principal } from './principal.js'

/**
 *   send        emails, batch, replies, files: create; cancel and reschedule; codes by SMS: send and check
 *   read        emails, events, metrics, suppressions, contacts, audiences, templates, broadcasts: read
 *   write       suppressions, contacts, audiences, templates, broadcasts, exports: write
 *   admin       domains, keys, webhooks, members, the workspace: write
 *   admin-read  the same: read
 *   owner       delete the workspace
 *   named       depends on the role of the key's user in the workspace that the request names
 *   named-read  the same: read
 */
export const areas = ['send', 'read', 'write', 'admin', 'admin-read', 'owner', 'named', 'named-read'] as const
export type Area = (typeof areas)[number]

type Permission = 'yes' | 'own' | 'no'

const rolePermissions: Readonly<Record<Area, Readonly<Record<Role, boolean>>>> = {
  send: { owner: true, admin: true, member: true },
  read: { owner: true, admin: true, member: true },
  write: { owner: true, admin: true, member: true },
  admin: { owner: true, admin: true, member: false },
  'admin-read': { owner: true, admin: true, member: true },
  owner: { owner: true, admin: false, member: false },
  named: { owner: true, admin: true, member: true },
  'named-read': { owner: true, admin: true, member: true },
}

const scopePermissions: Readonly<Record<Area, Readonly<Record<Scope, Permission>>>> = {
  send: { full: 'yes', send: 'yes', read: 'no' },
  read: { full: 'yes', send: 'own', read: 'yes' },
  write: { full: 'yes', send: 'no', read: 'no' },
  admin: { full: 'yes', send: 'no', read: 'no' },
  'admin-read': { full: 'yes', send: 'no', read: 'yes' },
  owner: { full: 'yes', send: 'no', read: 'no' },
  named: { full: 'yes', send: 'no', read: 'no' },
  'named-read': { full: 'yes', send: 'no', read: 'yes' },
}

export function permissionFor({ role, scopes }: Pick<Principal, 'role' | 'scopes'>, area: Area): Permission {
  if (!rolePermissions[area][role]) return 'no'
  const given = scopes.map((scope) => scopePermissions[area][scope])
  if (given.includes('yes')) return 'yes'
  return given.includes('own') ? 'own' : 'no'
}

/** Throws a Refusal `forbidden` that says why. With `own`, a permission for the key's own sends is enough. */
export function requirePermission(principal: Principal, area: Area, own = false): 'yes' | 'own' {
  const permission = permissionFor(principal, area)
  if (permission === 'yes' || (permission === 'own' && own)) return permission
  const { role, scopes } = principal
  const lacking = rolePermissions[area][role]
    ? `the key's scopes (${scopes.join(', ')}) do not allow it`
    : `the role "${role}" does not allow it`
  throw new Refusal('forbidden', `not permitted: ${lacking}`, { area, role, scopes })
}
