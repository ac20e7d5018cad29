/**
 * The types of the routes that the tests of the client use, in the form of openapi-typescript. The package has those of
 * the whole document, which are made after the tests are compiled.
 */
import type { ConnectionOptions } from '../../../clients/js/src/connection.js'
import { PosthornClient } from '../../../clients/js/src/posthorn-client.js'

interface JsonOf<Body> {
  readonly content: { readonly 'application/json': Body }
}

interface Email {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly text: string
}

interface Place {
  readonly limit?: number
  readonly offset?: number
  readonly cursor?: string
}

interface Created {
  readonly id: string
}

interface TestPaths {
  '/v1/emails': {
    get: { parameters: { query?: Place }; responses: { 200: JsonOf<{ data: (Created & { subject: string })[] }> } }
    post: { parameters: object; requestBody: JsonOf<Email>; responses: { 201: JsonOf<Created> } }
  }
  '/v1/emails/batch': {
    post: { parameters: object; requestBody: JsonOf<Email[]>; responses: { 200: JsonOf<{ data: Created[] }> } }
  }
  '/v1/emails/{id}': {
    get: { parameters: { path: { id: string } }; responses: { 200: JsonOf<{ id: string; subject: string }> } }
  }
  '/v1/emails/{id}/raw': {
    get: {
      parameters: { path: { id: string } }
      responses: { 200: { content: { 'message/rfc822': string } } }
    }
  }
  '/v1/suppressions': {
    get: { parameters: { query?: Place }; responses: { 200: JsonOf<{ data: (Created & { email: string })[] }> } }
    post: { parameters: object; requestBody: JsonOf<{ email: string }>; responses: { 201: JsonOf<Created> } }
  }
  '/v1/suppressions/{id}': {
    delete: { parameters: { path: { id: string } }; responses: { 204: { content?: never } } }
  }
  '/v1/webhooks': {
    post: {
      parameters: object
      requestBody: JsonOf<{ url: string; events: string[] }>
      responses: { 201: JsonOf<{ id: string; signing_secret: string }> }
    }
  }
  '/v1/webhooks/{id}/test': {
    post: { parameters: { path: { id: string } }; responses: { 200: JsonOf<{ delivery_id: string }> } }
  }
  '/v1/webhooks/{id}/rotate-secret': {
    post: { parameters: { path: { id: string } }; responses: { 200: JsonOf<{ signing_secret: string }> } }
  }
}

export class TestClient extends PosthornClient<TestPaths> {
  /** Pauses are short. */
  constructor(url: string, key: string, options: Omit<ConnectionOptions, 'url' | 'key'> = {}) {
    super({ url, key, firstPause: 2, maxPause: 1_000, ...options })
  }
}

export const hello = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
