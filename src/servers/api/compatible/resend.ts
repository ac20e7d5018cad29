/**
 * The paths that Resend alone has (https://resend.com/docs/api-reference). Its other paths are ours too, and our routes
 * answer its clients.
 */
import { z } from 'zod'
import { audienceRoutes } from '../audiences/audiences.js'
import { audienceContactRoutes } from '../audiences/contacts.js'
import { publishTemplateRoute } from '../content/templates.js'
import { type CompatibleService, toOwnError } from '../http/route/compatible-service.js'
import type { AttachmentDeps } from '../inbound/attachments.js'
import { receivedEmailRoutes } from './received-emails.js'

/** What the routes of these paths use. */
export type ResendDeps = Parameters<typeof audienceRoutes>[0] & AttachmentDeps

const ownPaths = [
  /^\/segments(?:\/|$)/,
  /^\/audiences\/[^/]{1,256}\/contacts(?:\/|$)/,
  /^\/emails\/receiving(?:\/|$)/,
  /^\/templates\/[^/]{1,256}\/publish$/,
]

export function resendService(deps: ResendDeps): CompatibleService {
  return {
    name: 'resend',
    title: 'Resend',
    keyScheme: { type: 'http', scheme: 'bearer' },
    owns: (path) => ownPaths.some((form) => form.test(path)),
    routes: [
      ...audienceRoutes(deps, 'segment'),
      ...audienceContactRoutes(deps),
      ...receivedEmailRoutes(deps),
      publishTemplateRoute(deps),
    ],
    errorSchema: z.object({ name: z.string(), message: z.string(), statusCode: z.int() }).meta({ id: 'ResendError' }),
    toError: toOwnError,
  }
}
