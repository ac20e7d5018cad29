/** Where a request comes from. */
import type { Context } from 'koa'

export function clientAddress(ctx: Context): string {
  return ctx.req.socket.remoteAddress ?? ''
}
