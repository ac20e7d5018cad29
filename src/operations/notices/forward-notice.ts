/**
 * The mail that asks the owner of an address whether it takes the forwarded mail of a workspace. It is queued in the
 * commit of the rule.
 *
 * A user can have it sent to any address. Therefore its subject contains no text of users, and names appear only as
 * short quoted words that cannot contain a link.
 */

import type { KeyObject } from 'node:crypto'
import { filterAsync } from '../../base/platform/async-filter.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import type { ServiceNotice, ServiceSender } from '../../records/messages/service-email.js'
import { isSuppressed } from '../../records/suppressions/suppressions.js'
import { workspaceWithOwner } from '../../workspaces/accounts/workspace/workspaces.js'
import { buildTargetToken, type ForwardTarget } from '../../workspaces/domains/forwards/forward-targets.js'
import { composeNotice, quoteName } from './notice-mail.js'

interface ForwardNoticeDeps extends ServiceSender {
  readonly read: Read
  readonly secret: KeyObject
  /** It has no slash at its end. */
  readonly publicUrl: string
}

type BuildRequests = (
  asked: readonly Pick<ForwardTarget, 'id' | 'address'>[],
  domain: string,
  workspaceId: string,
  now: number,
) => Promise<readonly ServiceNotice[]>

/** An address that has bounced mail of the service gets none. */
export function createForwardNotices(deps: ForwardNoticeDeps): BuildRequests {
  const { read, secret, publicUrl } = deps
  return async (asked, domain, workspaceId, now) => {
    const name = quoteName((await workspaceWithOwner(read, { id: workspaceId }))[0]?.name ?? '')
    const who = name === null ? 'A workspace' : `The workspace ${name}`
    const reached = await filterAsync(
      asked,
      async ({ address }) => !(await isSuppressed(read, SERVICE_WORKSPACE, address)),
    )
    return reached.map(({ id, address: to }) => {
      const url = `${publicUrl}/v1/forwards/${buildTargetToken(secret, id)}`
      const pieces = [
        {
          kind: 'text',
          text: `${who} receives mail for the domain ${domain} and wants to forward some of it to your address ${to}.`,
        },
        {
          kind: 'text',
          text: 'If you agree, open this page and confirm. On the same page you can end the forwarding later:',
        },
        { kind: 'link', url, label: 'Decide about the forwarding' },
        {
          kind: 'text',
          text: 'If you do not know what this is about, do nothing. Without your consent, no mail is forwarded to you.',
        },
      ] as const
      return composeNotice(deps, { to, subject: 'Do you agree that mail is forwarded to you?', pieces }, now)
    })
  }
}
