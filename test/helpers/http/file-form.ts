/** A request that brings one file, as `multipart/form-data`. */
import { multipart, multipartType } from './multipart.js'
import type { RestRequest } from './rest-client.js'

export function fileForm(
  content: string | Buffer,
  filename = 'list.csv',
): Required<Pick<RestRequest, 'body' | 'headers'>> {
  return { body: multipart(content, { type: 'text/csv', filename }), headers: multipartType }
}
