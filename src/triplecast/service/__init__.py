"""The service: a folder over HTTP. The only home of fastapi, starlette and uvicorn."""
