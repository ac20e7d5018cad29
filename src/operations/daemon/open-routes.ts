/** Builds the routes that anybody may call: what the links in mail lead to, and the URLs of delivery receipts. */

import type { Database } from '../../base/storage/db/database.js'
import type { Hit } from '../../outbound/tracking/hit.js'
import { forwardTargetRoutes } from '../../servers/api/domains/forward-target.js'
import type { Route } from '../../servers/api/http/route.js'
import { receiptRoutes } from '../../servers/api/sms/receipts.js'
import { trackingRoutes } from '../../servers/api/tracking/tracking.js'
import { unsubscribeRoutes } from '../../servers/api/unsubscribe/unsubscribe.js'
import { renderForwardPage } from '../../servers/pages/forward-page.js'
import { renderNotePage } from '../../servers/pages/layout.js'
import { renderUnsubscribePage, unknownUnsubscribePage } from '../../servers/pages/unsubscribe-page.js'
import type { ServiceIdentity } from '../../workspaces/domains/service-identity.js'
import type { Sms } from './sms.js'

interface OpenRouteDeps {
  readonly database: Pick<Database, 'read' | 'commit'>
  readonly identity: ServiceIdentity
  /** Records an open or a click, later. */
  readonly recordHit: (hit: Hit) => void
  readonly sms: Pick<Sms, 'applyReceipt'>
}

const unknownLinkPage = renderNotePage(
  404,
  'This link is not known',
  'It may be incomplete, or the message is so old that its links were removed.',
)

export function openRoutes({ database: { read, commit }, recordHit, identity, sms }: OpenRouteDeps): readonly Route[] {
  return [
    ...trackingRoutes({ read, secret: identity.returnPathSecret, record: recordHit, unknownLinkPage }),
    ...unsubscribeRoutes({
      ...{ read, commit, secret: identity.returnPathSecret },
      ...{ showPage: renderUnsubscribePage, unknownLinkPage: unknownUnsubscribePage },
    }),
    ...forwardTargetRoutes({
      ...{ read, commit, secret: identity.linkSecret },
      ...{ showPage: renderForwardPage, unknownLinkPage },
    }),
    ...receiptRoutes({ secret: identity.smsSecret, applyReceipt: sms.applyReceipt }),
  ]
}
