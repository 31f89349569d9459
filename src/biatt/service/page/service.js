// Calls of the service. Addresses are relative, so that the page works under any path prefix.

// A request that was not answered with a result. `kind` is "gone", "too long" or "refused".
export class ServiceError extends Error {
  constructor(kind, message, fields = []) {
    super(message);
    this.kind = kind;
    this.fields = fields;
  }
}

export const models = () => answer("models");
export const parse = (request, signal) => answer("parse", request, signal);
export const search = (request, signal) => answer("search", request, signal);

export async function isAlive() {
  try {
    return (await fetch("health", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

async function answer(path, request, signal) {
  const posted = request && {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(request),
  };
  let response;
  try {
    response = await fetch(path, { ...posted, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError("gone", "The service does not answer.");
  }
  if (response.ok) return response.json();
  const problem = await response.json().catch(() => ({}));
  const fields = (problem.errors ?? []).map((error) => error.field);
  const detail =
    problem.errors?.[0]?.detail ?? problem.detail ?? `The service answered with status ${response.status}.`;
  if (response.status === 413) throw new ServiceError("too long", detail, fields);
  if (response.status >= 500) throw new ServiceError("gone", detail, fields);
  throw new ServiceError("refused", detail, fields);
}
