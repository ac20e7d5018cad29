/**
 * Which emails the caller may see: those of its workspace, or where its key may only send,
 * those that this very key has sent.
 */
import { permissionFor } from '../../accounts/permissions.js'
import type { Principal } from '../../accounts/principal.js'
import type { Viewer } from '../../messages/email-resource.js'

/** The same for acts: their answer is the record, so who may not see it may not change it. */
export function viewerOf(principal: Principal): Viewer {
  const { workspaceId, keyId } = principal
  // Without a key nothing was sent by it.
  return { workspaceId, ownKey: permissionFor(principal, 'read') === 'yes' ? null : (keyId ?? '') }
}
