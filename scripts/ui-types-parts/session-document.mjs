/** The OpenAPI document of the session routes. */
const string = { type: 'string' }
const boolean = { type: 'boolean' }
const nullable = (type) => ({ type: [type, 'null'] })

const objectOf = (properties, optional = []) => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
})
const listOf = (items) => ({ type: 'array', items })

const body = (schema) => ({ requestBody: { required: true, content: { 'application/json': { schema } } } })
const answer = (status, schema) => ({
  responses: {
    [status]: { description: '', ...(schema ? { content: { 'application/json': { schema } } } : {}) },
    '4XX': { description: '', content: { 'application/json': { schema: failure } } },
  },
})
const failure = objectOf({
  error: objectOf({ code: string, message: string, details: { type: 'object' } }, ['details']),
})

const state = objectOf({
  user: objectOf({ id: string, email: string, full_name: nullable('string'), totp_enabled: boolean }),
  workspaces: listOf(
    objectOf({
      id: string,
      name: string,
      role: { type: 'string', enum: ['owner', 'admin', 'member'] },
      is_operator: boolean,
    }),
  ),
  session: objectOf({ id: string, expires_at: string }),
  service: objectOf({ version: string, hostname: string, public_url: string }),
})

const listedSession = objectOf({
  id: string,
  current: boolean,
  created_at: string,
  last_used_at: string,
  expires_at: string,
  user_agent: nullable('string'),
  ip_address: nullable('string'),
})

const path = (name) => ({ parameters: [{ name, in: 'path', required: true, schema: string }] })

export const sessionDocument = {
  openapi: '3.1.0',
  info: { title: 'Posthorn sessions', version: '0' },
  paths: {
    '/session': {
      get: answer(200, state),
      post: { ...body(objectOf({ email: string, password: string, code: string }, ['code'])), ...answer(200, state) },
      delete: answer(204),
    },
    '/sessions': {
      get: answer(200, objectOf({ data: listOf(listedSession) })),
      delete: {
        parameters: [{ name: 'all', in: 'query', required: false, schema: boolean }],
        ...answer(204),
      },
    },
    '/sessions/{id}': { delete: { ...path('id'), ...answer(204) } },
    '/password': { post: { ...body(objectOf({ current_password: string, new_password: string })), ...answer(204) } },
    '/password-links': { post: { ...body(objectOf({ email: string })), ...answer(202, objectOf({})) } },
    '/password-links/confirm': {
      post: { ...body(objectOf({ token: string, password: string })), ...answer(200, state) },
    },
    '/totp': {
      post: { ...body(objectOf({ password: string })), ...answer(200, objectOf({ secret: string, uri: string })) },
      delete: { ...body(objectOf({ password: string, code: string })), ...answer(204) },
    },
    '/totp/confirm': {
      post: { ...body(objectOf({ code: string })), ...answer(200, objectOf({ recovery_codes: listOf(string) })) },
    },
  },
}
