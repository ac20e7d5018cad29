/** Checks answers against the schemas that their routes document. */
import type { Route } from '../../../src/servers/api/http/route/route.js'
import type { RestAnswer } from './rest-client.js'

/** `line`: as `GET /domains/:id`. What is wrong with the answer; empty: nothing. */
export function schemaCheck(routes: readonly Route[]): (line: string, answer: RestAnswer) => readonly string[] {
  return (line, answer) => {
    const route = routes.find(({ method, path }) => `${method} ${path}` === line)
    if (route === undefined) return [`no route ${line}`]
    const documented = route.answers[answer.status]
    if (documented === undefined) return [`${line} does not document ${answer.status}: ${answer.text}`]
    if (documented.schema === undefined) return answer.text === '' ? [] : [`${line} has a body: ${answer.text}`]
    const result = documented.schema.safeParse(answer.json())
    return result.success ? [] : result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  }
}
