/** Builds the routes that anybody may call: what the links in mail lead to, and the URLs of delivery receipts. */

import { forwardTargetRoutes } from '../api/domains/forward-target.js'
import type { Route } from '../api/http/route.js'
import { receiptRoutes } from '../api/sms/receipts.js'
import { trackingRoutes } from '../api/tracking/tracking.js'
import { unsubscribeRoutes } from '../api/unsubscribe/unsubscribe.js'
import type { ServiceIdentity } from '../domains/service-identity.js'
import { renderForwardPage } from '../pages/forward-page.js'
import { renderNotePage } from '../pages/layout.js'
import { renderUnsubscribePage, unknownUnsubscribePage } from '../pages/unsubscribe-page.js'
import type { Database } from '../storage/database.js'
import type { Hit } from '../tracking/hit.js'
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
