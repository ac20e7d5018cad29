/** The client of the REST API, for the types of any OpenAPI document: `Posthorn` has those of ours. */
import { Connection, type ConnectionOptions, type RequestOptions } from './connection.js'
import type { AnswerOf, InputArguments, ItemOf, ListPath, OperationOf, PathWith, Verb } from './operation-types.js'
import { readPages } from './pages.js'

/** Who sends a composed message, and to whom. Without them the header of the message decides. */
export interface Envelope {
  readonly from?: string
  readonly to?: readonly string[]
}

/** The values that a request may have; its type depends on the route. */
interface AnyInput extends RequestOptions {
  readonly path?: object
  readonly query?: object
  readonly body?: unknown
}

type PostAnswer<Paths, Path extends keyof Paths> = AnswerOf<OperationOf<Paths, 'POST', Path>>
type PostBody<Paths, Path extends keyof Paths> =
  OperationOf<Paths, 'POST', Path> extends { requestBody: { content: { 'application/json': infer Body } } }
    ? Body
    : never

export class PosthornClient<Paths extends { '/v1/emails': { post: object }; '/v1/emails/batch': { post: object } }> {
  private readonly connection: Connection

  constructor(options: ConnectionOptions) {
    this.connection = new Connection(options)
  }

  /**
   * Sends any request of the API: `request('GET', '/v1/emails/{id}', { path: { id } })`. Throws a PosthornError if the
   * server refuses it or does not answer.
   */
  async request<Method extends Verb, Path extends PathWith<Paths, Method>>(
    method: Method,
    path: Path,
    ...[input]: InputArguments<OperationOf<Paths, Method, Path>>
  ): Promise<AnswerOf<OperationOf<Paths, Method, Path>>> {
    return (await this.run(method, path, input)) as AnswerOf<OperationOf<Paths, Method, Path>>
  }

  /** Sends one email. A repetition never sends it twice. */
  async send(
    email: PostBody<Paths, '/v1/emails'>,
    options: RequestOptions = {},
  ): Promise<PostAnswer<Paths, '/v1/emails'>> {
    const answer = await this.connection.request({ method: 'POST', path: '/v1/emails', body: email, ...options })
    return answer as PostAnswer<Paths, '/v1/emails'>
  }

  /** Sends up to 100 emails. The answer has an item for each, in their order. */
  async sendBatch(
    emails: PostBody<Paths, '/v1/emails/batch'>,
    options: RequestOptions = {},
  ): Promise<PostAnswer<Paths, '/v1/emails/batch'>> {
    const answer = await this.connection.request({ method: 'POST', path: '/v1/emails/batch', body: emails, ...options })
    return answer as PostAnswer<Paths, '/v1/emails/batch'>
  }

  /** Sends a message that is composed already: a header, an empty line and a body. */
  async sendMessage(
    message: Uint8Array | string,
    envelope: Envelope = {},
    options: RequestOptions = {},
  ): Promise<PostAnswer<Paths, '/v1/emails'>> {
    const answer = await this.connection.request({
      ...{ method: 'POST', path: '/v1/emails', query: { ...envelope }, contentType: 'message/rfc822' },
      body: typeof message === 'string' ? new TextEncoder().encode(message) : message,
      ...options,
    })
    return answer as PostAnswer<Paths, '/v1/emails'>
  }

  /**
   * Reads every item of a list, page by page: `for await (const email of posthorn.list('/v1/emails'))`. `limit` in the
   * query is the size of a page. Default 100.
   */
  list<Path extends ListPath<Paths>>(
    path: Path,
    ...[input]: InputArguments<OperationOf<Paths, 'GET', Path>>
  ): AsyncGenerator<ItemOf<AnswerOf<OperationOf<Paths, 'GET', Path>>>, void, undefined> {
    const given: AnyInput = input ?? {}
    const query = { ...given.query }
    return readPages((place) => this.run('GET', path, { ...given, query: { ...query, ...place } }), query)
  }

  private run(method: Verb, path: string, { path: values = {}, query = {}, ...rest }: AnyInput = {}): Promise<unknown> {
    const texts = new Map(Object.entries(values))
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeSegment(name, String(texts.get(name) ?? '')))
    return this.connection.request({ method, path: filled, query: { ...query }, ...rest })
  }
}

/** A URL resolves dots as segments, so that the request would go to another route. */
function encodeSegment(name: string, value: string): string {
  if (/^\.{0,2}$/.test(value)) throw new TypeError(`path.${name}: found "${value}", needs an id`)
  return encodeURIComponent(value)
}
